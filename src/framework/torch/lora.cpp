// SPDX-License-Identifier: Apache-2.0
#include "framework/torch/lora.h"

#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "family/losses/loss.h"
#include "framework/torch/language_model_head.h"
#include "framework/torch/lora_layer.h"
#include "framework/torch/lora_parameters.h"
#include "framework/torch/lora_targets.h"
#include "framework/torch/modules_to_save.h"
#include "nn/layers.h"
#include "release/trainer_changes.h"

namespace memtape::torch {
namespace {

using nn::ModuleNode;
using nn::NamedModule;

/// Layers of mamba models whose weights their fused kernels read past any adapter
/// (_check_lora_target_modules_mamba).
bool incompatible(std::string_view family, std::string_view layer) {
  constexpr std::array<std::string_view, 5> kMamba{"falcon_h1", "mamba", "mamba2", "falcon_mamba",
                                                   "nemotron_h"};
  return ghost::has(changes::kMambaLayersAreRefused) &&
         (layer == "out_proj" || layer == "conv1d") &&
         std::find(kMamba.begin(), kMamba.end(), family) != kMamba.end();
}

Result<void> check_target(const NamedModule& module, std::string_view family) {
  if (!module.node->projection)
    return unsupported("\"" + module.name + "\" is no linear layer", "--lora-targets",
                       "LoRA on embeddings and other modules is not modelled");
  if (incompatible(family, module.node->name))
    return bad_input(
        "peft refuses \"" + module.node->name + "\" in " + std::string(family) + " models",
        "--lora-targets", "leave it out");
  return {};
}

/// Llama4Router and PhimoeTopKRouter are linear layers, too, but give two results, where peft's
/// layer reads the dtype of one.
Result<void> check_routers(const std::vector<NamedModule>& modules, const LoraRecipe& recipe,
                           const family::FamilyFacts& facts) {
  if (!facts.router_gives_two ||
      std::ranges::find(recipe.targets, "all-linear") == recipe.targets.end())
    return {};
  if (std::ranges::none_of(modules,
                           [](const NamedModule& m) { return names_module("router", m.name); }))
    return {};
  return bad_input("peft fails on \"router\" in " + std::string(facts.model_type) +
                       " models, which gives two results",
                   "--lora-targets", "name the layers without it, as q_proj,k_proj,v_proj,o_proj");
}

bool is_converted(const ParameterTargets& parameters, std::string_view name) {
  return std::ranges::any_of(parameters.converted, [&](std::string_view converted) {
    return names_module(converted, name);
  });
}

/// The linear layers among the targets, of which all-linear leaves out the head
/// (_maybe_include_all_linear_layers); those whose names now stand for parameters are none.
Result<std::vector<NamedModule>> linear_targets(const std::vector<NamedModule>& modules,
                                                LoraRecipe recipe, std::string_view head,
                                                const ParameterTargets& parameters) {
  std::erase_if(recipe.targets,
                [&](const std::string& target) { return is_converted(parameters, target); });
  if (recipe.targets.empty() && recipe.target_pattern.empty()) return std::vector<NamedModule>{};
  Result<std::vector<NamedModule>> chosen = lora_targets(modules, recipe, head);
  if (chosen)
    std::erase_if(*chosen, [&](const NamedModule& m) { return is_converted(parameters, m.name); });
  return chosen;
}

/// Adapters in the order of their modules, as cast_adapter_dtype meets them.
class MadeAdapters {
 public:
  explicit MadeAdapters(const std::vector<NamedModule>& modules) {
    for (std::size_t i = 0; i < modules.size(); ++i) places_.emplace(modules[i].node, i);
  }
  void add(const nn::ModuleNode* node, std::function<void()> cast) {
    casts_.emplace_back(places_.at(node), std::move(cast));
  }
  void cast() {
    std::ranges::stable_sort(casts_, {}, &Cast::first);
    for (const Cast& cast : casts_) cast.second();
  }

 private:
  using Cast = std::pair<std::size_t, std::function<void()>>;
  std::unordered_map<const nn::ModuleNode*, std::size_t> places_;
  std::vector<Cast> casts_;
};

/// BaseTuner._inject_parameters, module by module.
void add_parameter_adapters(nn::ModuleTree& tree, const std::vector<ParameterTarget>& targets,
                            MadeAdapters& made) {
  for (auto at = targets.begin(); at != targets.end();) {
    nn::ModuleNode* const node = at->module.node;
    const auto end = std::find_if(at, targets.end(),
                                  [&](const ParameterTarget& t) { return t.module.node != node; });
    for (const LoraFactors& factors : wrap_parameters(tree, {at, end}))
      made.add(node, [factors] {
        cast_to_float32(*factors.lora_A);
        cast_to_float32(*factors.lora_B);
      });
    at = end;
  }
}

/// `bias` (_mark_only_adapters_as_trainable of tuners_utils.py): all of the model's own, or those
/// of the layers that are adapted.
void mark_biases(const std::vector<ModuleNode::Named>& base_parameters,
                 const std::vector<NamedModule>& adapted, LoraRecipe::Biases trained) {
  if (trained == LoraRecipe::Biases::all)
    for (const ModuleNode::Named& parameter : base_parameters)
      if (parameter.name == "bias" || parameter.name.ends_with(".bias"))
        parameter.tensor.impl().requires_grad = true;
  if (trained == LoraRecipe::Biases::lora_only)
    for (const NamedModule& module : adapted)
      if (const Tensor& bias = module.node->projection->bias; bias.defined())
        bias.impl().requires_grad = true;
}

/// The head that all-linear leaves out.
std::string_view spared_head(const family::PretrainedModel& model) {
  const bool found =
      ghost::has(changes::kAllLinearByWholeNames) || !family::head_is_of_text(model.model_type);
  return found ? language_model_head(model) : std::string_view();
}

}  // namespace

Result<void> add_lora(family::PretrainedModel& model, const LoraRecipe& recipe,
                      const family::FamilyFacts& facts) {
  const std::vector<NamedModule> modules = nn::named_modules(model.tree.root());
  const auto parameters = parameter_targets(modules, recipe, facts.model_type);
  if (!parameters) return tl::unexpected(parameters.error());
  if (const Result<void> fine = check_routers(modules, recipe, facts); !fine) return fine;
  const auto chosen = linear_targets(modules, recipe, spared_head(model), *parameters);
  if (!chosen) return tl::unexpected(chosen.error());
  const std::vector<ModuleNode::Named> base_parameters = nn::named_parameters(model.tree.root());
  MadeAdapters adapters(modules);
  for (const NamedModule& module : *chosen) {
    if (const Result<void> fine = check_target(module, facts.model_type); !fine) return fine;
    nn::Projection& base = *module.node->projection;
    auto adapter =
        std::make_unique<LoraLinear>(model.tree, base, recipe, rank_of(recipe, module.name));
    adapters.add(module.node, [made = adapter.get()] { made->cast(); });
    base.adapter = std::move(adapter);
  }
  add_parameter_adapters(model.tree, parameters->parameters, adapters);
  for (const ModuleNode::Named& parameter : base_parameters)
    parameter.tensor.impl().requires_grad = false;
  mark_biases(base_parameters, *chosen, recipe.trained_biases);
  if (const Result<void> saved = save_modules(model, recipe.modules_to_save); !saved) return saved;
  if (const Result<void> saved = save_task_heads(model, recipe.task_heads); !saved) return saved;
  adapters.cast();
  return {};
}

}  // namespace memtape::torch
