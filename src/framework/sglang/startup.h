// SPDX-License-Identifier: Apache-2.0
// Startup: what a rank of SGLang holds when its model is loaded, the most that the forward pass of
// a whole prefill chunk adds, and the pool that its CUDA graphs share: a tape of vLLM's layers
// (SGLang's began as theirs: fused projections, padded vocabulary, one rope table) through the
// allocator.
#pragma once

#include <vector>

#include "base/result.h"
#include "framework/sglang/server_args.h"
#include "framework/vllm/kv_spec.h"
#include "framework/vllm/methods/quantization.h"
#include "timeline/timeline.h"

namespace memtape::sglang {

struct Startup {
  Bytes weights_bytes = 0;  ///< storages of all parameters and buffers
  Bytes parameter_bytes = 0;
  Bytes reserved_before = 0;  ///< when the free memory is first asked for
  Levels loaded;              ///< when the model is there and the cache is empty
  Bytes activation_peak = 0;  ///< over that, of a whole chunk
  Bytes graph_pool = 0;       ///< reserved for the graphs of decoding
  std::vector<vllm::KvLayer> kv_layers;
};

/// Of the stage that `model` says.
Result<Startup> run_startup(const Config& config, const ServerArgs& args,
                            const vllm::Settings& model, const vllm::Quantization* quantization);

}  // namespace memtape::sglang
