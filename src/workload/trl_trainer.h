// SPDX-License-Identifier: Apache-2.0
// Which of trl's trainers is asked for: by --trainer, or by a field that only its configuration
// has; and the fields of all those configurations.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "workload/train_options.h"

namespace memtape {

/// The trainers that --trainer names: transformers' own first; "none" is a loop around accelerate.
std::span<const std::string_view> trainer_names();

/// Whether `options` ask for that trainer: --trainer says so, or says nothing and one of them is
/// a field `of_it` alone.
bool asks_for(std::span<const NamedValue> options, std::string_view trainer,
              bool (*of_it)(std::string_view name));

/// What the configuration of the trainer asked for sets; nothing for transformers' own.
void set_defaults_of_trainer(std::span<const NamedValue> options, TrainRecipe& recipe);

/// Fields of trl's configurations that TrainingArguments has not.
std::vector<std::string_view> trl_argument_names();
bool is_trl_argument(std::string_view name);

/// Such a field, for the trainer asked for.
Result<void> set_trl_argument(const NamedValue& option, TrainRecipe& recipe);

/// What follows from all options of the trainer asked for, once they are set.
Result<void> settle_trl(std::span<const NamedValue> options, TrainRecipe& recipe);

}  // namespace memtape
