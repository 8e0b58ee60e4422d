// SPDX-License-Identifier: Apache-2.0
// ggml's tensor types: how many elements a block has and how many bytes a block takes (ggml.h,
// ggml-common.h). The numbers are those of the GGUF format; the types of missing numbers were
// removed.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/bytes.h"

namespace memtape::ggml {

enum class Type : std::uint8_t {
  f32 = 0,
  f16 = 1,
  q4_0 = 2,
  q4_1 = 3,
  q5_0 = 6,
  q5_1 = 7,
  q8_0 = 8,
  q8_1 = 9,
  q2_k = 10,
  q3_k = 11,
  q4_k = 12,
  q5_k = 13,
  q6_k = 14,
  q8_k = 15,
  iq2_xxs = 16,
  iq2_xs = 17,
  iq3_xxs = 18,
  iq1_s = 19,
  iq4_nl = 20,
  iq3_s = 21,
  iq2_s = 22,
  iq4_xs = 23,
  i8 = 24,
  i16 = 25,
  i32 = 26,
  i64 = 27,
  f64 = 28,
  iq1_m = 29,
  bf16 = 30,
  tq1_0 = 34,
  tq2_0 = 35,
  mxfp4 = 39,
  nvfp4 = 40,
  q1_0 = 41,
  q2_0 = 42,
};

struct TypeTraits {
  Type type;
  std::string_view name;  ///< as ggml prints it: "q4_K"
  std::int64_t block;     ///< the elements of a block
  Bytes bytes;            ///< the bytes of a block
  bool quantized;
};

const TypeTraits& traits(Type type);

/// The type with that number in a file, or nothing if ggml has none.
std::optional<Type> type_from_number(std::int64_t number);
/// The type with that name, or nothing if ggml has none. Case is ignored.
std::optional<Type> type_from_name(std::string_view name);

inline std::int64_t block_size(Type type) { return traits(type).block; }
inline Bytes block_bytes(Type type) { return traits(type).bytes; }
inline bool is_quantized(Type type) { return traits(type).quantized; }
inline Bytes row_size(Type type, std::int64_t elements) {
  return traits(type).bytes * elements / traits(type).block;
}

}  // namespace memtape::ggml
