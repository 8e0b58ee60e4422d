// SPDX-License-Identifier: Apache-2.0
// A checkpoint whose linear layers were packed by GPTQ or AWQ, according to quantization_config in
// config.json. transformers 5.17 loads both with gptqmodel's layers (quantizers/quantizer_gptq.py,
// quantizer_awq.py); which kernel they use depends on what is installed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "framework/transformers/linear_awq.h"
#include "framework/transformers/linear_gptq.h"
#include "model/config.h"

namespace memtape::transformers {

struct PackedCheckpoint {
  enum class Method : std::uint8_t { gptq, awq };
  Method method = Method::gptq;
  std::int64_t bits = 4;
  std::int64_t group_size = 128;  ///< -1 stands for a whole column
  AwqKernel awq_kernel = AwqKernel::triton;
  GptqKernel gptq_kernel = GptqKernel::gptqmodel;
  /// fms-acceleration makes parameters of GPTQ's words over several GPUs, so that FSDP shards them.
  bool words_are_parameters = false;
  std::vector<std::string> not_converted{};  ///< for AWQ: modules_to_not_convert
};

/// Some kernels of gptqmodel can be run and not trained.
enum class PackedUse : std::uint8_t { training, inference };

/// It is empty for a checkpoint of plain weights.
Result<std::optional<PackedCheckpoint>> packed_checkpoint(const Config& config,
                                                          PackedUse use = PackedUse::training);

/// What importing gptqmodel does to torch's allocator.
inline constexpr std::string_view kGptqmodelAllocator =
    "importing gptqmodel sets PYTORCH_ALLOC_CONF=expandable_segments:True,"
    "max_split_size_mb:256,garbage_collection_threshold:0.7, which torch obeys when nothing is "
    "on the GPU yet; set it here for what is reserved then";

/// What is assumed about a checkpoint that holds other than plain weights.
std::vector<std::string> quantized_checkpoint_warnings(const Config& config);

}  // namespace memtape::transformers
