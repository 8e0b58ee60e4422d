// SPDX-License-Identifier: Apache-2.0
// memtape's own options in Trainer's words: adapters become peft's LoraConfig, rounded weights a
// BitsAndBytesConfig, optimizers that only Trainer has its optim; and the recipe --qlora stands for.
#pragma once

#include <span>
#include <string>

#include "base/result.h"
#include "option/given.h"

namespace memtape::transformers {

/// In place of --qlora what it stands for, less what is said beside it; and the options of
/// `--framework transformers` in its own words, those of others as they are.
Result<NamedValues> in_trainer_words(NamedValues given);

/// A JSON object with these members, which take the place of those that it has.
std::string with_members(const std::string& object, std::span<const NamedValue> members);

}  // namespace memtape::transformers
