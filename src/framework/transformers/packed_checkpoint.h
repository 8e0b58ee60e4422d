// SPDX-License-Identifier: Apache-2.0
// A checkpoint whose linear layers GPTQ or AWQ packed before, as config.json's quantization_config
// says: transformers 5.17 loads both with gptqmodel's layers (quantizers/quantizer_gptq.py,
// quantizer_awq.py), whose kernel is chosen by what is installed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "framework/transformers/linear_awq.h"
#include "model/config.h"

namespace memtape::transformers {

struct PackedCheckpoint {
  enum class Method : std::uint8_t { gptq, awq };
  Method method = Method::gptq;
  std::int64_t bits = 4;
  std::int64_t group_size = 128;  ///< -1: a whole column
  AwqKernel awq_kernel = AwqKernel::triton;
  std::vector<std::string> not_converted{};  ///< of AWQ: modules_to_not_convert
};

/// None for a checkpoint of plain weights.
Result<std::optional<PackedCheckpoint>> packed_checkpoint(const Config& config);

/// What is taken for granted about a checkpoint that holds other than plain weights.
std::vector<std::string> quantized_checkpoint_warnings(const Config& config);

}  // namespace memtape::transformers
