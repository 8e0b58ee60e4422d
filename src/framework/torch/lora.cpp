// SPDX-License-Identifier: Apache-2.0
#include "framework/torch/lora.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "framework/torch/lora_layer.h"
#include "framework/torch/lora_targets.h"
#include "framework/torch/modules_to_save.h"
#include "nn/layers.h"

namespace memtape::torch {
namespace {

using nn::ModuleNode;
using nn::NamedModule;

/// Layers of mamba models whose weights their fused kernels read past any adapter
/// (_check_lora_target_modules_mamba).
bool incompatible(std::string_view model_type, std::string_view layer) {
  constexpr std::array<std::string_view, 5> kMamba{"falcon_h1", "mamba", "mamba2", "falcon_mamba",
                                                   "nemotron_h"};
  return (layer == "out_proj" || layer == "conv1d") &&
         std::find(kMamba.begin(), kMamba.end(), model_type) != kMamba.end();
}

Result<void> check(const NamedModule& module, std::string_view model_type,
                   const LoraRecipe& recipe) {
  if (!module.node->projection)
    return unsupported("\"" + module.name + "\" is no linear layer", "--lora-targets",
                       "LoRA on embeddings and other modules is not modelled");
  if (incompatible(model_type, module.node->name))
    return bad_input(
        "peft refuses \"" + module.node->name + "\" in " + std::string(model_type) + " models",
        "--lora-targets", "leave it out");
  if (recipe.use_dora && module.node->projection->kernel)
    return unsupported("DoRA over a quantized base is not modelled", "--peft",
                       R"("use_dora": false)");
  return {};
}

}  // namespace

Result<void> add_lora(family::PretrainedModel& model, const LoraRecipe& recipe,
                      std::string_view model_type) {
  const std::vector<NamedModule> modules = nn::named_modules(model.tree.root());
  const auto chosen = lora_targets(modules, recipe, model.output_embeddings());
  if (!chosen) return tl::unexpected(chosen.error());
  const std::vector<ModuleNode::Named> base_parameters = nn::named_parameters(model.tree.root());
  std::vector<LoraLinear*> adapters;
  for (const NamedModule& module : *chosen) {
    if (const Result<void> fine = check(module, model_type, recipe); !fine) return fine;
    nn::Projection& base = *module.node->projection;
    auto adapter =
        std::make_unique<LoraLinear>(model.tree, base, recipe, rank_of(recipe, module.name));
    adapters.push_back(adapter.get());
    base.adapter = std::move(adapter);
  }
  for (const ModuleNode::Named& parameter : base_parameters)
    parameter.tensor.impl().requires_grad = false;
  if (const Result<void> saved = save_modules(model, recipe.modules_to_save); !saved) return saved;
  for (LoraLinear* adapter : adapters) adapter->cast_to_float32();
  return {};
}

}  // namespace memtape::torch
