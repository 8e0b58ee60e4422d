// SPDX-License-Identifier: Apache-2.0
// trl's SFTConfig (1.16, trainer/sft_config.py): the fields it has beside TrainingArguments' own.
// Any of them makes the trainer trl's SFTTrainer, whose defaults differ: bf16 and gradient
// checkpointing are on.
#pragma once

#include <span>
#include <string_view>

#include "base/result.h"
#include "workload/train_options.h"

namespace memtape {

std::span<const std::string_view> sft_argument_names();
bool is_sft_argument(std::string_view name);

/// Whether `options` ask for SFTTrainer: --trainer decides where it is given, else one of its
/// fields.
bool asks_for_sft(std::span<const NamedValue> options);

/// What all of trl's configurations set: gradient checkpointing, and bf16 unless fp16 is asked for.
void set_trl_defaults(std::span<const NamedValue> options, TrainRecipe& recipe);

/// What SFTConfig() sets.
void set_sft_defaults(std::span<const NamedValue> options, TrainRecipe& recipe);

Result<void> set_sft_argument(const NamedValue& option, TrainRecipe& recipe);

/// Sequences are cut to max_length, or packed to it.
void apply_max_length(std::span<const NamedValue> options, TrainRecipe& recipe);

/// What packing asks of the rest, once all is set.
Result<void> settle_sft(TrainRecipe& recipe);

}  // namespace memtape
