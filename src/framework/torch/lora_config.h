// SPDX-License-Identifier: Apache-2.0
// peft's LoraConfig (0.21, tuners/lora/config.py) as JSON: the fields memory depends on become a
// LoraRecipe; one that is not modelled is an Error, one that is unknown names the nearest.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "workload/train_options.h"

namespace memtape::torch {

/// `--peft JSON`
Result<LoraRecipe> read_lora_config(const std::string& text);

// --peft as an argument of programs that call get_peft_model themselves.
inline constexpr std::string_view kPeftArguments = "peft's configurations";
Result<void> set_peft(const option::Said& said, TrainRecipe& recipe);
const TrainOption* peft_argument(std::string_view name);

}  // namespace memtape::torch
