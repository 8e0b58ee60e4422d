// SPDX-License-Identifier: Apache-2.0
// lora.ParamWrapper of peft 0.21 (tuners/lora/layer.py): adapters of parameters that belong to no
// linear layer. Experts that transformers 5 keeps in one tensor are targeted by the names of the
// layers that they once were (peft/utils/transformers_weight_conversion.py,
// _convert_peft_config_moe).
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "nn/layers.h"
#include "workload/lora_recipe.h"

namespace memtape::torch {

/// One parameter of a module that gets an adapter.
struct ParameterTarget {
  nn::NamedModule module;
  ghost::Tensor parameter;
  std::int64_t rank;
  double scaling;
};

/// What peft makes of the targets for a model of that type: which parameters are adapted, and which
/// names then no longer mean linear layers.
struct ParameterTargets {
  std::vector<ParameterTarget> parameters;
  std::vector<std::string_view> converted;
};

Result<ParameterTargets> parameter_targets(const std::vector<nn::NamedModule>& modules,
                                           const LoraRecipe& recipe, std::string_view family);

/// The two matrices of one parameter.
struct LoraFactors {
  nn::Linear* lora_A;
  nn::Linear* lora_B;
};

/// Wraps a module in ParamWrappers, nested in the order of its parameters with the last one
/// outermost. The module's node owns them. It returns what is to be cast to float32.
std::vector<LoraFactors> wrap_parameters(nn::ModuleTree& tree,
                                         const std::vector<ParameterTarget>& targets);

}  // namespace memtape::torch
