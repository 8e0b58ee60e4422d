// SPDX-License-Identifier: Apache-2.0
// Expresses memtape's own options in Trainer's words: adapters become peft's LoraConfig, rounded
// weights become a BitsAndBytesConfig, and optimizers that only Trainer has become its optim. It
// also has the recipe for which --qlora stands.
#pragma once

#include <span>
#include <string>

#include "base/result.h"
#include "option/given.h"

namespace memtape::transformers {

/// Replaces --qlora by what it stands for, except for what is given in addition. For `--framework
/// transformers` the options are then in its own words; for others they are unchanged.
Result<NamedValues> in_trainer_words(NamedValues given);

}  // namespace memtape::transformers
