// SPDX-License-Identifier: Apache-2.0
// Changes to a model's config.json that engines let a user make: vLLM's --hf-overrides and SGLang's
// --json-model-override-args.
#pragma once

#include "base/result.h"
#include "model/config.h"

namespace memtape {

/// `config` with the members of `overrides`: objects are merged, and any other value replaces the
/// one that is there. The result has its own record of failures.
Result<Config> overridden(const Config& config, const Config& overrides);

}  // namespace memtape
