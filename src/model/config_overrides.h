// SPDX-License-Identifier: Apache-2.0
// What engines let a user say in the place of a model's config.json: vLLM's --hf-overrides,
// SGLang's --json-model-override-args.
#pragma once

#include "base/result.h"
#include "model/config.h"

namespace memtape {

/// `config`, with a record of its own, in which the members of `overrides` count: objects join, any
/// other value takes the place of the one that is there.
Result<Config> overridden(const Config& config, const Config& overrides);

}  // namespace memtape
