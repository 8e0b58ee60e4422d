// SPDX-License-Identifier: Apache-2.0
// The TrainingArguments of Trainer's evaluation loop (transformers 5.17), and two words of our
// own for what a program decides elsewhere: whether it hands a compute_metrics to its Trainer, and
// how many samples it evaluates.
#pragma once

#include <span>
#include <string_view>

#include "base/result.h"
#include "workload/train_options.h"

namespace memtape {

std::span<const std::string_view> evaluation_argument_names();
bool is_evaluation_argument(std::string_view name);
Result<void> set_evaluation_argument(const NamedValue& option, TrainRecipe& recipe);

}  // namespace memtape
