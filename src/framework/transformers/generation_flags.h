// SPDX-License-Identifier: Apache-2.0
// The fields of GenerationConfig that say how tokens are chosen and what is returned, as flags.
#pragma once

#include <vector>

#include "base/result.h"
#include "framework/transformers/generate.h"
#include "outcome/serve_answer.h"
#include "serving/serve_engine.h"

namespace memtape::transformers {

/// Reads the flags into `recipe`, whose cache and beams must be known.
Result<void> read_generation_flags(const ServeRequest& request, GenerateRecipe& recipe);

/// The flags that were given, with their values.
std::vector<Setting> generation_settings(const ServeOptions& options);

}  // namespace memtape::transformers
