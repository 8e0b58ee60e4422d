// SPDX-License-Identifier: Apache-2.0
// What scripts with HfArgumentParser have in common: arguments on the command line or in one file,
// TrainingArguments beside the script's own, and the name of a model.
#pragma once

#include "launch/trainer_program.h"

namespace memtape::launch {

inline constexpr WordStyle kScriptStyle{.file = WordStyle::File::only, .negatives = true};

/// The model and the dtype of its weights.
void take_script_model(Reading& reading);

}  // namespace memtape::launch
