// SPDX-License-Identifier: Apache-2.0
// Which CUDA graphs vLLM captures (vllm/config/compilation.py, VllmConfig._set_cudagraph_sizes):
// the mode, from --compilation-config and --optimization-level, and the sizes in tokens.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "framework/vllm/settings.h"
#include "serving/serve_engine.h"

namespace memtape::vllm {

/// Whether it compiles, the mode of the graphs and what sizes were asked for.
Result<void> read_graphs(const ServeOptions& options, Settings& settings);

/// The sizes, when batch and speculation are known.
Result<void> choose_capture_sizes(const ServeOptions& options, Settings& settings);

/// Full graphs of decoding steps: each once without adapters and once with, where there is room for
/// adapters (CudaGraphManager._init_candidates).
std::vector<std::int64_t> full_graph_sizes(const Settings& settings);

}  // namespace memtape::vllm
