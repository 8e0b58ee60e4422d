// SPDX-License-Identifier: Apache-2.0
// LoRA in vLLM (vllm/lora): every linear layer, the experts, the embedding and the head have the
// stacked matrices of as many adapters as may run at a time, all of the largest rank. The wrapper
// of the kernels keeps which token belongs to which adapter. All this is made, as zeros, when the
// weights are there, so it does not matter which adapters are loaded.
#pragma once

#include <string>
#include <vector>

#include "framework/vllm/settings.h"
#include "ghost/tensor.h"

namespace memtape::vllm {

/// The sizes of one adapted layer on this rank, slice by slice: qkv has three slices, gate and up
/// have two.
struct LoraSite {
  std::int64_t in = 0;
  std::vector<std::int64_t> outs;
  std::int64_t experts = 1;  ///< the number of experts with their own matrices
  std::string module = {};   ///< "qkv_proj"
};

/// The stacked matrices of all sites, A before B, after the tables of the wrapper.
std::vector<ghost::Tensor> make_lora_buffers(const std::vector<LoraSite>& sites,
                                             const Settings& settings);
/// What the kernels of a layer hold between A and B. It is in float32 and is freed when the layer's
/// output exists.
Bytes lora_scratch(const Settings& settings, std::int64_t slices, std::int64_t tokens);

}  // namespace memtape::vllm
