// SPDX-License-Identifier: Apache-2.0
// --speculative-config as vLLM resolves it (vllm/config/speculative.py): the method, which follows
// from the name of the drafter if it is not given, and the drafter's configuration with the changes
// that the target makes.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "framework/vllm/settings.h"
#include "serving/serve_engine.h"

namespace memtape::vllm {

/// The checkpoint that proposes, if the value of the flag names one. It is "" for n-grams and for
/// predictors inside of the model itself, even if these are named.
Result<std::string> drafter_name(const std::string& speculation);

/// The length and the runner of `settings` must be known.
Result<void> read_speculation(const ServeRequest& request, const Config& target, Settings& settings,
                              std::vector<std::string>& warnings);

}  // namespace memtape::vllm
