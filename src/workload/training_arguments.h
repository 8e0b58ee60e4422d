// SPDX-License-Identifier: Apache-2.0
// transformers' TrainingArguments (5.17, training_args.py) by their own names: those memory depends
// on change the recipe, those it does not are taken and passed over, the rest must keep their
// defaults.
#pragma once

#include <vector>

#include "base/result.h"
#include "workload/train_options.h"

namespace memtape {

/// Every TrainingArguments field, and peft's prepare_model_for_kbit_training as a switch.
std::vector<std::string_view> training_argument_names();
bool is_training_argument(std::string_view name);

/// What TrainingArguments() sets: fused AdamW, batches of 8, no mixed precision.
void set_training_argument_defaults(TrainRecipe& recipe);

/// One of them; a switch without a value is on.
Result<void> set_training_argument(const NamedValue& option, TrainRecipe& recipe);

}  // namespace memtape
