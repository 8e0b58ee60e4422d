// SPDX-License-Identifier: Apache-2.0
// trl's DPOConfig (1.16, trainer/dpo_config.py): the fields it has beside TrainingArguments' own
// and SFTConfig's. Any of them makes the trainer trl's DPOTrainer, as --trainer dpo does.
#pragma once

#include <span>
#include <string_view>

#include "base/result.h"
#include "workload/train_options.h"

namespace memtape {

/// Fields of DPOConfig that SFTConfig has not.
std::span<const std::string_view> dpo_argument_names();
bool is_dpo_argument(std::string_view name);

/// Whether `options` ask for DPOTrainer; --trainer decides where it is given.
bool asks_for_dpo(std::span<const NamedValue> options);

/// What DPOConfig() sets, where `options` ask for it.
void set_dpo_defaults(std::span<const NamedValue> options, TrainRecipe& recipe);

/// A field of DPOConfig, SFTConfig's of the same name included.
Result<void> set_dpo_argument(const NamedValue& option, TrainRecipe& recipe);

/// sync_ref_model, of DPOConfig, KTOConfig and GRPOConfig: SyncRefModelCallback mixes the policy
/// into the reference in place (trl 1.16, trainer/callbacks.py), so a step needs nothing more.
Result<void> check_sync_ref_model(const NamedValue& option);

/// What it is where nothing is said.
void settle_dpo(TrainRecipe& recipe);

}  // namespace memtape
