// SPDX-License-Identifier: Apache-2.0
// trl's GRPOConfig (1.16, trainer/grpo_config.py): the fields it has beside TrainingArguments' own.
// Any of them makes the trainer trl's GRPOTrainer, as --trainer grpo does. `prompt_length` is
// memtape's: how many tokens the prompts have.
#pragma once

#include <span>
#include <string_view>

#include "base/result.h"
#include "workload/train_options.h"

namespace memtape {

/// Fields of GRPOConfig that no other configuration has.
std::span<const std::string_view> grpo_argument_names();
bool is_grpo_argument(std::string_view name);

/// Whether `options` ask for GRPOTrainer; --trainer decides where it is given.
bool asks_for_grpo(std::span<const NamedValue> options);

/// What GRPOConfig() sets.
void set_grpo_defaults(std::span<const NamedValue> options, TrainRecipe& recipe);

/// A field of GRPOConfig, those it shares included.
Result<void> set_grpo_argument(const NamedValue& option, TrainRecipe& recipe);

/// How long sequences are, and how often completions are made, once all options are read.
Result<void> settle_grpo(std::span<const NamedValue> options, TrainRecipe& recipe);

}  // namespace memtape
