// SPDX-License-Identifier: Apache-2.0
// Which modules a LoraConfig selects (peft 0.21, tuners_utils.py): those of target_modules without
// exclude_modules, in the layers that layers_to_transform names, with ranks from rank_pattern.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "nn/module.h"
#include "workload/lora_recipe.h"

namespace memtape::torch {

/// The only target of a LoraConfig that names none: peft chooses the targets by the type of the
/// model.
inline constexpr std::string_view kDefaultLoraTargets = "peft's default";

/// peft's choice for a family. It is empty for families that peft does not know.
std::vector<std::string> default_lora_targets(std::string_view family);

/// check_target_module_exists: `target` is the whole name, or its end after a dot.
bool names_module(std::string_view target, std::string_view name);

/// The layers that get an adapter, in the order of named_modules(). `head` is the name of the
/// output head.
Result<std::vector<nn::NamedModule>> lora_targets(const std::vector<nn::NamedModule>& modules,
                                                  const LoraRecipe& recipe, std::string_view head);

/// The rank of that module's adapter.
std::int64_t rank_of(const LoraRecipe& recipe, std::string_view name);

}  // namespace memtape::torch
