// SPDX-License-Identifier: Apache-2.0
// transformers' TrainingArguments (5.17, training_args.py) under their own names, and a few
// arguments of programs that replace parts of Trainer (LLaMA-Factory, axolotl, peft).
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "framework/transformers/arguments/argument.h"

namespace memtape::transformers {

/// What they mirror, except for the rows that say otherwise.
inline constexpr std::string_view kTrainingArguments = "transformers/training_args.py";

/// All arguments: those of TrainingArguments, and then those of trl's configurations.
std::span<const Argument> training_arguments();
bool is_training_argument(std::string_view name);

// The row of an argument, by which `--framework transformers` reads a TrainRecipe
// (workload/framework.h).
const Argument* argument(std::string_view name);
void start_arguments(std::span<const NamedValue> options, TrainRecipe& recipe);
Result<void> finish_arguments(std::span<const NamedValue> options, TrainRecipe& recipe);

}  // namespace memtape::transformers
