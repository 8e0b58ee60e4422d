// SPDX-License-Identifier: Apache-2.0
// trl's RewardConfig (1.16, trainer/reward_config.py): the fields it has beside TrainingArguments'
// own. `--trainer reward` asks for RewardTrainer, as a field that no other configuration has does.
#pragma once

#include <span>
#include <string_view>

#include "base/result.h"
#include "workload/train_options.h"

namespace memtape {

/// Fields of RewardConfig that SFTConfig and DPOConfig have not.
std::span<const std::string_view> reward_argument_names();
bool is_reward_argument(std::string_view name);

/// Whether `options` ask for RewardTrainer; --trainer decides where it is given.
bool asks_for_reward(std::span<const NamedValue> options);

/// What RewardConfig() sets.
void set_reward_defaults(std::span<const NamedValue> options, TrainRecipe& recipe);

/// A field of RewardConfig, SFTConfig's of the same name included.
Result<void> set_reward_argument(const NamedValue& option, TrainRecipe& recipe);

}  // namespace memtape
