// SPDX-License-Identifier: Apache-2.0
// LoRA in vLLM (vllm/lora): beside every linear layer, the experts, the embedding and the head
// stand the stacked matrices of as many adapters as may run at a time, all of the largest rank, and
// the wrapper of the kernels keeps which token belongs to which adapter. They are made when the
// weights are there, and zero; what adapters are loaded changes nothing.
#pragma once

#include <vector>

#include "framework/vllm/settings.h"
#include "ghost/tensor.h"

namespace memtape::vllm {

/// The sizes of one adapted layer on this rank, by slice: qkv has three, gate and up two.
struct LoraSite {
  std::int64_t in = 0;
  std::vector<std::int64_t> outs;
  std::int64_t experts = 1;  ///< matrices for each
};

/// The stacked matrices of all sites, A before B, after the wrapper's tables.
std::vector<ghost::Tensor> make_lora_buffers(const std::vector<LoraSite>& sites,
                                             const Settings& settings);
/// What the kernels of a layer hold between A and B: float32, freed when the layer's output is
/// there.
Bytes lora_scratch(const Settings& settings, std::int64_t slices, std::int64_t tokens);

}  // namespace memtape::vllm
