// SPDX-License-Identifier: Apache-2.0
// Options that all frameworks share, said in the words of the one that runs: Trainer takes adapters
// as peft's LoraConfig, 4- and 8-bit weights as a BitsAndBytesConfig, and optimizers by its names.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "workload/train_options.h"

namespace memtape {

/// --lora-rank, --lora-targets, --lora-dropout, --quantize and --optimizer in Trainer's words; of
/// other frameworks as they are.
Result<std::vector<NamedValue>> in_dialect_words(std::vector<NamedValue> options);

/// A JSON object with members set to values that are JSON already.
std::string with_members(const std::string& object,
                         std::span<const std::pair<std::string, std::string>> members);

}  // namespace memtape
