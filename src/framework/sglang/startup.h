// SPDX-License-Identifier: Apache-2.0
// Startup: what a rank of SGLang holds when its model is loaded, the most that the forward pass of
// a whole prefill chunk adds, and the pool that its CUDA graphs share. A tape of vLLM's layers is
// played through the allocator, because SGLang's layers began as vLLM's (fused projections, padded
// vocabulary, one rope table).
#pragma once

#include <vector>

#include "base/result.h"
#include "framework/sglang/server_args.h"
#include "framework/vllm/kv_spec.h"
#include "framework/vllm/loading.h"
#include "framework/vllm/methods/quantization.h"
#include "timeline/timeline.h"

namespace memtape::sglang {

struct Startup {
  Bytes weights_bytes = 0;  ///< the storages of all parameters and buffers
  Bytes parameter_bytes = 0;
  Bytes offloaded_bytes = 0;       ///< weights in host memory
  Bytes loaded_expert_bytes = 0;   ///< experts as they were loaded, beside what was made of them
  Bytes reserved_before = 0;       ///< at the moment when the free memory is first asked for
  vllm::Loading loading;           ///< the most while it is loaded
  Levels loaded;                   ///< when the model is loaded and the cache is empty
  Bytes activation_peak = 0;       ///< what a whole chunk adds to that
  Bytes graph_pool = 0;            ///< what the graphs for decoding reserve
  std::int64_t graph_kernels = 0;  ///< those of one such graph
  std::int64_t graph_sums = 0;     ///< over the ranks, in one such graph
  std::vector<vllm::KvLayer> kv_layers;
};

/// Runs the stage that `model` names.
Result<Startup> run_startup(const Config& config, const ServerArgs& args,
                            const vllm::Settings& model, const vllm::Quantization* quantization);

}  // namespace memtape::sglang
