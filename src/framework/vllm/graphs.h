// SPDX-License-Identifier: Apache-2.0
// Which CUDA graphs vLLM captures (vllm/config/compilation.py, VllmConfig._set_cudagraph_sizes):
// the mode, which comes from --compilation-config and --optimization-level, and the sizes in
// tokens.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "framework/vllm/settings.h"
#include "serving/serve_engine.h"

namespace memtape::vllm {

/// Reads whether vLLM compiles, the mode of the graphs, and which sizes were asked for.
Result<void> read_graphs(const ServeOptions& options, Settings& settings);

/// Chooses the sizes. The batch and the speculation must be known.
Result<void> choose_capture_sizes(const ServeOptions& options, Settings& settings);

/// The sizes of the full graphs, those of decoding steps.
std::vector<std::int64_t> full_graph_sizes(const Settings& settings);

/// If there is room for adapters, each size is captured once without adapters and once with them
/// (CudaGraphManager._init_candidates, and the V1 runner's CudagraphDispatcher).
std::int64_t captures_of_a_size(const Settings& settings);

}  // namespace memtape::vllm
