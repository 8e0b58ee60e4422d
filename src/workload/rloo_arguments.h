// SPDX-License-Identifier: Apache-2.0
// trl's RLOOConfig (1.16, trainer/rloo_config.py): GRPOConfig's fields but a few, with defaults of
// its own. `--trainer rloo` asks for RLOOTrainer, as a field that no other configuration has does.
#pragma once

#include <span>
#include <string_view>

#include "base/result.h"
#include "workload/train_options.h"

namespace memtape {

/// Fields of RLOOConfig that trl's other configurations have not.
std::span<const std::string_view> rloo_argument_names();
bool is_rloo_argument(std::string_view name);

/// Whether `options` ask for RLOOTrainer; --trainer decides where it is given.
bool asks_for_rloo(std::span<const NamedValue> options);

/// What RLOOConfig() sets.
GrpoRecipe rloo_defaults();
void set_rloo_defaults(std::span<const NamedValue> options, TrainRecipe& recipe);

/// A field of RLOOConfig, GRPOConfig's of the same name included.
Result<void> set_rloo_argument(const NamedValue& option, TrainRecipe& recipe);

}  // namespace memtape
