// SPDX-License-Identifier: Apache-2.0
// --attention-backend: which of vLLM's attention kernels a user asks for, and what they hold beside
// the cache (vllm/v1/attention/backends/registry.py and the backends' own files, 0.32).
#pragma once

#include <string>
#include <vector>

#include "framework/vllm/settings.h"
#include "model/config.h"
#include "workload/serve_options.h"

namespace memtape::vllm {

/// Refuses a backend that is not there for CUDA, or for another kind of cache than the model's; a
/// warning says where what it holds is not known.
Result<void> read_attention_backend(const ServeOptions& options, const Config& config, Settings& s,
                                    std::vector<std::string>& warnings);

}  // namespace memtape::vllm
