// SPDX-License-Identifier: Apache-2.0
// Startup: the start-up of a vLLM worker as a tape: the model runner's buffers, the model, the
// processing of its weights, the samplers' state, and the profile run (vllm/v1/worker/gpu_worker.py
// and worker/gpu/model_runner.py, the V2 runner). `play_startup` plays it through the allocator and
// reads what determine_available_memory reads.
#pragma once

#include <vector>

#include "base/result.h"
#include "framework/vllm/kv_spec.h"
#include "framework/vllm/loading.h"
#include "framework/vllm/methods/quantization.h"
#include "framework/vllm/settings.h"
#include "model/config.h"
#include "tape/tape.h"
#include "timeline/play.h"

namespace memtape::vllm {

/// Indices of events. Each names the first event after the stage.
struct StartupStages {
  std::size_t runner = 0;   ///< the runner's own buffers exist
  std::size_t weights = 0;  ///< the model is loaded and processed: "Model loading took"
  std::size_t loaded = 0;   ///< the samplers' state exists
  std::size_t profile = 0;  ///< the cache has been emptied, and the profile run begins
  std::size_t profiled = 0;
  std::size_t settled = 0;       ///< the cache has been emptied again
  std::size_t graphs = 0;        ///< the smallest KV cache exists, and capturing begins
  std::size_t graphs_taken = 0;  ///< samples of the CUDA graphs are captured
  std::size_t warm_up = 0;       ///< the cache has been emptied, and the sampler warms up
  std::size_t warm = 0;
};

/// The CUDA graphs that are captured: how many of each kind, and how many kernels the largest of
/// them holds (captured_kernels).
struct CapturedGraphs {
  std::int64_t pieces = 0, whole = 0;  ///< steps in pieces between attention layers; whole steps
  std::int64_t piece_kernels = 0, whole_kernels = 0;
  std::int64_t sums = 0;            ///< of ranks, in each of them (captured_sums)
  std::int64_t adapter_layers = 0;  ///< those whose kernels for adapters are captured, too
};

struct Startup {
  Tape tape;
  StartupStages stages;
  Bytes weights_bytes = 0;  ///< the storages of all parameters and buffers
  Bytes parameter_bytes = 0;
  Bytes repacked_bytes = 0;   ///< weights in the layouts of kernels, which are no longer parameters
  Bytes offloaded_bytes = 0;  ///< weights in host memory, as they were made
  std::vector<KvLayer> kv_layers;
  Bytes compile_bytes = 0;  ///< what compiling is assumed to allocate and to give back
  CapturedGraphs graphs;
};

/// The levels of the allocator after each stage, and the figures that follow from them.
struct StartupFigures {
  Levels runner, weights, profiled;
  Loading loading;
  Bytes peak_allocated = 0, peak_reserved = 0;
  Bytes consumed = 0;             ///< what is reserved once the cache has been emptied
  Bytes torch_peak_increase = 0;  ///< over what was allocated before the profile run
  Bytes graph_pool = 0;           ///< the tensors of the captured graphs
  Bytes headroom = 0;             ///< over what is allocated after it
  std::vector<Bytes> holes;       ///< free blocks of segments that are in part in use then
  Bytes warm_up = 0;              ///< over what is allocated before the sampler warms up
  std::size_t peak_event = 0;
  BlockSizes sizes;
  bool out_of_memory = false;
};

Result<Startup> run_startup(const Config& config, const Settings& settings,
                            const Quantization* quantization);
StartupFigures play_startup(const Startup& startup, const Settings& settings);

}  // namespace memtape::vllm
