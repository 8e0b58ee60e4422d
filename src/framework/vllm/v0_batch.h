// SPDX-License-Identifier: Apache-2.0
// The V0 engine's batch: a whole prompt, or with models of long contexts a chunk
// (EngineArgs.create_engine_config and SchedulerConfig of vLLM before 0.8).
#pragma once

#include <cstdint>

#include "base/result.h"
#include "framework/vllm/settings.h"
#include "model/config.h"
#include "workload/serve_options.h"

namespace memtape::vllm {

struct V0Batch {
  std::int64_t tokens = 0;  ///< --max-num-batched-tokens, where nobody says it
  bool chunks = false;      ///< prompts are cut, and the profile run samples nothing
};

/// The longest request, where a model alternates layers with a window and full ones. Releases that do
/// not know of both serve it with full ones, and no more than the window holds (ModelConfig). Who
/// asks for more is refused.
Result<std::int64_t> within_window(std::int64_t length, bool is_given, const Config& config,
                                   const Release& release);

V0Batch v0_batch(const ServeOptions& options, const Config& config, const Settings& s);

}  // namespace memtape::vllm
