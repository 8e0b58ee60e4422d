// SPDX-License-Identifier: Apache-2.0
// Startup: a vLLM worker's start-up as a tape: the model runner's buffers, the model, its weights
// processed, the samplers' state, and the profile run (vllm/v1/worker/gpu_worker.py and
// worker/gpu/model_runner.py, the V2 runner). `play_startup` puts it through the allocator and
// reads off what determine_available_memory reads.
#pragma once

#include <vector>

#include "base/result.h"
#include "framework/vllm/kv_spec.h"
#include "framework/vllm/methods/quantization.h"
#include "framework/vllm/settings.h"
#include "model/config.h"
#include "tape/tape.h"
#include "timeline/play.h"

namespace memtape::vllm {

/// Event indices: each names the first event after the stage.
struct StartupStages {
  std::size_t runner = 0;   ///< the runner's own buffers
  std::size_t weights = 0;  ///< the model, processed: "Model loading took"
  std::size_t loaded = 0;   ///< and the samplers' state
  std::size_t profile = 0;  ///< the cache has been emptied; the profile run begins
  std::size_t profiled = 0;
  std::size_t settled = 0;       ///< the cache has been emptied again
  std::size_t graphs = 0;        ///< a least KV cache is there; capturing begins
  std::size_t graphs_taken = 0;  ///< the samples of the CUDA graphs are captured
};

struct Startup {
  Tape tape;
  StartupStages stages;
  Bytes weights_bytes = 0;  ///< storages of all parameters and buffers
  Bytes parameter_bytes = 0;
  Bytes repacked_bytes = 0;  ///< weights in kernels' own layouts, which are no parameters any more
  std::vector<KvLayer> kv_layers;
  Bytes compile_bytes = 0;       ///< what compiling is taken to allocate, and to give back
  std::int64_t full_graphs = 0;  ///< how many the real capture takes
};

/// What the allocator stood at after each stage, and the figures that follow.
struct StartupFigures {
  Levels runner, weights, loaded, profiled;
  Bytes peak_allocated = 0, peak_reserved = 0;
  Bytes consumed = 0;             ///< reserved when all is cached back
  Bytes torch_peak_increase = 0;  ///< over what was allocated before the profile run
  Bytes graph_estimate = 0;       ///< profile_cudagraph_memory
  Bytes headroom = 0;             ///< over what is allocated after it
  std::size_t peak_event = 0;
  BlockSizes sizes;
  bool out_of_memory = false;
};

Result<Startup> run_startup(const Config& config, const Settings& settings,
                            const Quantization* quantization);
StartupFigures play_startup(const Startup& startup, const Settings& settings);

}  // namespace memtape::vllm
