// SPDX-License-Identifier: Apache-2.0
// LoRAMemoryPool of SGLang (srt/lora/mem_pool.py, 0.5.23): every layer that adapters may change has
// the matrices of as many of them as run at a time, all of the largest rank. They are made, as
// zeros, when the model is loaded, so the cache has less.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "framework/vllm/lora.h"
#include "serving/serve_engine.h"

namespace memtape::sglang {

struct LoraPool {
  std::int64_t adapters = 8, rank = 0;
  /// The layers as SGLang fuses them: "qkv_proj"; "all" stands for every one, and nothing for those
  /// of attention and MLP.
  std::vector<std::string> modules;
};

/// Nothing where no adapters are served, or where their rank is not said, which is a warning.
Result<std::optional<LoraPool>> lora_pool_of(const ServeOptions& options,
                                             std::vector<std::string>& warnings);

std::vector<ghost::Tensor> make_lora_pool(const std::vector<vllm::LoraSite>& sites,
                                          const LoraPool& pool, DType dtype);

}  // namespace memtape::sglang
