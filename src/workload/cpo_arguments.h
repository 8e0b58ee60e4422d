// SPDX-License-Identifier: Apache-2.0
// trl's CPOConfig and ORPOConfig (1.16, experimental/cpo/cpo_config.py and orpo/orpo_config.py):
// the fields they have beside TrainingArguments' own. `--trainer cpo` and `--trainer orpo` ask for
// their trainers, as a field that no other configuration has does for CPOTrainer.
#pragma once

#include <span>
#include <string_view>

#include "base/result.h"
#include "workload/train_options.h"

namespace memtape {

/// Fields of CPOConfig and ORPOConfig that trl's other configurations have not.
std::span<const std::string_view> cpo_argument_names();
bool is_cpo_argument(std::string_view name);

/// Whether `options` ask for CPOTrainer or ORPOTrainer; --trainer decides where it is given.
bool asks_for_cpo(std::span<const NamedValue> options);

/// What CPOConfig() or ORPOConfig() sets.
void set_cpo_defaults(std::span<const NamedValue> options, TrainRecipe& recipe);

/// A field of theirs, another configuration's of the same name included.
Result<void> set_cpo_argument(const NamedValue& option, TrainRecipe& recipe);

/// What follows from all of them.
Result<void> settle_cpo(TrainRecipe& recipe);

}  // namespace memtape
