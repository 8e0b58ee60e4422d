// SPDX-License-Identifier: Apache-2.0
// DType: the element types of tensors, under torch's names. Widths are in bits, because types like
// int4 share a byte.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/bytes.h"

namespace memtape {

enum class DType : std::uint8_t {
  float64,
  float32,
  float16,
  bfloat16,
  float8_e4m3fn,
  float8_e5m2,
  int64,
  int32,
  int16,
  int8,
  uint8,
  boolean,
  int4,
};

/// The width of one element in bits.
constexpr int bits(DType t) {
  switch (t) {
    case DType::float64:
    case DType::int64: return 64;
    case DType::float32:
    case DType::int32: return 32;
    case DType::float16:
    case DType::bfloat16:
    case DType::int16: return 16;
    case DType::int4: return 4;
    default: return 8;
  }
}

/// The bytes of `count` elements; a last byte that is only partly used counts in full.
constexpr Bytes bytes_of(DType t, std::int64_t count) { return (count * bits(t) + 7) / 8; }

constexpr bool is_floating_point(DType t) { return t <= DType::float8_e5m2; }

/// torch's spelling: "float32", "bfloat16", "bool" ...
std::string_view name(DType t);

/// The dtype of that name, which is torch's, a short form (fp32, bf16) or the safetensors form
/// (F32, BF16). It is nothing if the name is unknown.
std::optional<DType> dtype_from_name(std::string_view text);

}  // namespace memtape
