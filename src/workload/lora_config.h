// SPDX-License-Identifier: Apache-2.0
// peft's LoraConfig (0.21, tuners/lora/config.py) as JSON: the fields memory depends on become a
// LoraRecipe; one that is not modelled is an Error, one that is unknown names the nearest.
#pragma once

#include "base/result.h"
#include "workload/train_options.h"

namespace memtape {

/// `--peft JSON`
Result<void> set_lora_config(const NamedValue& option, TrainRecipe& recipe);

}  // namespace memtape
