// SPDX-License-Identifier: Apache-2.0
// LoRA as peft 0.21 applies it (tuners/lora): each layer whose name matches gets two small
// trainable products beside its own product, and everything else is frozen. Adapters are made in
// the dtype of their layer and then cast to float32 if that is a 16-bit type
// (autocast_adapter_dtype).
#pragma once

#include <string_view>

#include "base/result.h"
#include "family/facts.h"
#include "workload/lora_recipe.h"

namespace memtape::torch {

/// The place where peft puts the model: names of named_parameters() begin with it afterwards.
inline constexpr std::string_view kPeftPrefix = "base_model.model.";

/// get_peft_model(model, LoraConfig(r, target_modules, lora_dropout)) on a built model of that
/// family.
Result<void> add_lora(family::PretrainedModel& model, const LoraRecipe& recipe,
                      const family::FamilyFacts& facts);

}  // namespace memtape::torch
