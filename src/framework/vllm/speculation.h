// SPDX-License-Identifier: Apache-2.0
// --speculative-config as vLLM resolves it (vllm/config/speculative.py): the method, from the name
// of the drafter where it is not given, and the drafter's configuration as the target changes it.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "framework/vllm/settings.h"
#include "serving/serve_engine.h"

namespace memtape::vllm {

/// The checkpoint that proposes, where the flag's value names one: "" for n-grams and for
/// predictors within the model itself, which may be named again.
Result<std::string> drafter_name(const std::string& speculation);

/// Needs the length and the runner of `settings`.
Result<void> read_speculation(const ServeRequest& request, const Config& target, Settings& settings,
                              std::vector<std::string>& warnings);

}  // namespace memtape::vllm
