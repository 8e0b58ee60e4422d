// SPDX-License-Identifier: Apache-2.0
// trl's KTOConfig (1.16, trainer/kto_config.py): the fields it has beside TrainingArguments' own.
// `--trainer kto` asks for KTOTrainer, as a field that no other configuration has does.
#pragma once

#include <span>
#include <string_view>

#include "base/result.h"
#include "workload/train_options.h"

namespace memtape {

/// Fields of KTOConfig that SFTConfig and DPOConfig have not.
std::span<const std::string_view> kto_argument_names();
bool is_kto_argument(std::string_view name);

/// Whether `options` ask for KTOTrainer; --trainer decides where it is given.
bool asks_for_kto(std::span<const NamedValue> options);

/// What KTOConfig() sets.
void set_kto_defaults(std::span<const NamedValue> options, TrainRecipe& recipe);

/// A field of KTOConfig, SFTConfig's and DPOConfig's of the same name included.
Result<void> set_kto_argument(const NamedValue& option, TrainRecipe& recipe);

}  // namespace memtape
