// SPDX-License-Identifier: Apache-2.0
// LoRA as peft 0.21 applies it (tuners/lora): the layers whose names match get two small trainable
// products beside their own, everything else is frozen. Adapters are made in the dtype of their
// layer and then, if that is a half type, cast to float32 (autocast_adapter_dtype).
#pragma once

#include <string_view>

#include "base/result.h"
#include "family/facts.h"
#include "workload/lora_recipe.h"

namespace memtape::torch {

/// Where peft puts the model: what named_parameters() begins with afterwards.
inline constexpr std::string_view kPeftPrefix = "base_model.model.";

/// get_peft_model(model, LoraConfig(r, target_modules, lora_dropout)) on a built model of that
/// family.
Result<void> add_lora(family::PretrainedModel& model, const LoraRecipe& recipe,
                      const family::FamilyFacts& facts);

}  // namespace memtape::torch
