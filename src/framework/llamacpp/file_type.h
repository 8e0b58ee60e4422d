// SPDX-License-Identifier: Apache-2.0
// File types: what llama-quantize can make of a model, and which type it gives each tensor
// (llama-quant.cpp): a base type, better types for tensors in which errors hurt most, and a
// fallback for rows that are not a whole number of blocks.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "framework/llamacpp/weights.h"

namespace memtape::llamacpp {

/// With their numbers in general.file_type.
enum class FileType : std::uint8_t {
  f32 = 0,
  f16 = 1,
  q4_0 = 2,
  q4_1 = 3,
  q8_0 = 7,
  q5_0 = 8,
  q5_1 = 9,
  q2_k = 10,
  q3_k_s = 11,
  q3_k_m = 12,
  q3_k_l = 13,
  q4_k_s = 14,
  q4_k_m = 15,
  q5_k_s = 16,
  q5_k_m = 17,
  q6_k = 18,
  iq2_xxs = 19,
  iq2_xs = 20,
  q2_k_s = 21,
  iq3_xs = 22,
  iq3_xxs = 23,
  iq1_s = 24,
  iq4_nl = 25,
  iq3_s = 26,
  iq3_m = 27,
  iq2_s = 28,
  iq2_m = 29,
  iq4_xs = 30,
  iq1_m = 31,
  bf16 = 32,
  tq1_0 = 36,
  tq2_0 = 37,
  mxfp4_moe = 38,
  nvfp4 = 39,
  q1_0 = 40,
  q2_0 = 41,
};

std::string_view name(FileType type);
std::optional<FileType> file_type_from_number(std::int64_t number);
/// Finds a type by llama-quantize's names, in which "Q4_K" means Q4_K_M.
Result<FileType> file_type_from_name(std::string_view typed);

/// Sets the type of every weight of a model that is converted to F16 and then quantized without an
/// importance matrix.
Result<void> quantize(std::span<Weight> weights, const Hyperparameters& hp, FileType type);

}  // namespace memtape::llamacpp
