// SPDX-License-Identifier: Apache-2.0
// What vLLM refuses before it allocates anything (vllm/config/model.py, scheduler.py,
// supports_block_size of the attention backends). The same commands are refused here.
#pragma once

#include "framework/vllm/settings.h"
#include "model/config.h"
#include "workload/serve_options.h"

namespace memtape::vllm {

Result<void> check_settings(const ServeOptions& options, const Config& config,
                            const Settings& settings);

/// Whether the model has experts (ModelConfig.is_moe).
bool has_experts(const Config& config);

}  // namespace memtape::vllm
