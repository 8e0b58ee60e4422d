// SPDX-License-Identifier: Apache-2.0
#include "framework/torch/lora.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/text.h"
#include "ghost/autograd/node.h"
#include "nn/layers.h"

namespace memtape::torch {
namespace {

using ghost::Tensor;
using nn::ModuleNode;
using nn::NamedModule;

/// The node the adapted layer's own parameters move to.
ModuleNode& move_to_base_layer(nn::ModuleTree& tree, ModuleNode& node) {
  ModuleNode& base = tree.add(node, "base_layer");
  base.parameters = std::move(node.parameters);
  node.parameters.clear();
  return base;
}

nn::Scope child(nn::ModuleTree& tree, ModuleNode& node, std::string_view name) {
  return nn::Scope(tree, node) / name / "default";
}

/// The dtype of the base layer, or that of its products when it is quantized
/// (_get_base_layer_device_and_dtype).
DType adapter_dtype(const nn::Projection& base) {
  return base.kernel ? base.kernel->compute_dtype() : base.weight.dtype();
}

/// lora.Linear (tuners/lora/layer.py).
class LoraLinear final : public nn::ProjectionAdapter {
 public:
  LoraLinear(nn::ModuleTree& tree, nn::Projection& base, const LoraRecipe& recipe)
      : base_layer_(move_to_base_layer(tree, base.node())),
        lora_dropout_(child(tree, base.node(), "lora_dropout"), recipe.dropout),
        lora_A(child(tree, base.node(), "lora_A"), base.in_features, recipe.rank, false,
               adapter_dtype(base)),
        lora_B(child(tree, base.node(), "lora_B"), recipe.rank, base.out_features, false,
               adapter_dtype(base)) {}

  Tensor forward(nn::Projection& base, const Tensor& input) override {
    if (base.kernel) return forward_over_quantized(base, input);
    Tensor result = base_forward(base, input);
    const DType torch_result_dtype = result.dtype();
    const Tensor x = input.to(lora_A.weight.dtype());
    result = result.add(lora_B(lora_A(lora_dropout_(x))).mul(2.0));
    return result.to(torch_result_dtype);
  }

 private:
  /// Linear4bit's (tuners/lora/bnb.py): a clone of the result, and no casts under autocast.
  Tensor forward_over_quantized(nn::Projection& base, Tensor x) {
    Tensor result = base_forward(base, x);
    result = result.clone();
    const bool requires_conversion = !ghost::session().autocast.enabled;
    const DType expected_dtype = result.dtype();
    if (requires_conversion) x = x.to(lora_A.weight.dtype());
    Tensor output = lora_B(lora_A(lora_dropout_(x))).mul(2.0);
    if (requires_conversion) output = output.to(expected_dtype);
    return result.add(output);
  }

  Tensor base_forward(nn::Projection& base, const Tensor& x) const {
    const ghost::ScopeGuard guard(base_layer_.scope);
    return base.base_forward(x);
  }

  ModuleNode& base_layer_;
  nn::Dropout lora_dropout_;

 public:
  nn::Linear lora_A, lora_B;
};

/// BaseTuner._cast_adapter_dtype.
void cast_to_float32(nn::Linear& adapter) {
  if (adapter.weight.dtype() != DType::float16 && adapter.weight.dtype() != DType::bfloat16) return;
  const ghost::ScopeGuard guard(adapter.node().scope);
  const Tensor weight = adapter.weight.detach().to_float();
  weight.impl().requires_grad = true;
  ghost::session().set_category(weight, Category::parameter);
  nn::replace_weight(adapter, weight);
}

/// check_target_module_exists: the whole name, or its end after a dot.
bool matches(std::string_view name, std::string_view target) {
  if (!name.ends_with(target)) return false;
  return name.size() == target.size() || name[name.size() - target.size() - 1] == '.';
}

/// Layers of mamba models whose weights their fused kernels read past any adapter
/// (_check_lora_target_modules_mamba).
bool incompatible(std::string_view model_type, std::string_view layer) {
  constexpr std::array<std::string_view, 5> kMamba{"falcon_h1", "mamba", "mamba2", "falcon_mamba",
                                                   "nemotron_h"};
  return (layer == "out_proj" || layer == "conv1d") &&
         std::find(kMamba.begin(), kMamba.end(), model_type) != kMamba.end();
}

/// target_modules="all-linear": every projection but the output head
/// (_maybe_include_all_linear_layers).
std::vector<NamedModule> all_linear(const std::vector<NamedModule>& modules,
                                    std::string_view head) {
  std::vector<NamedModule> chosen;
  for (const NamedModule& module : modules)
    if (module.node->projection && module.name != head) chosen.push_back(module);
  return chosen;
}

/// Names a target may have had: the last parts of the names of all projections.
tl::unexpected<Error> unknown_target(const std::string& target,
                                     const std::vector<NamedModule>& modules) {
  std::vector<std::string_view> names;
  for (const NamedModule& module : modules)
    if (module.node->projection &&
        std::find(names.begin(), names.end(), module.node->name) == names.end())
      names.push_back(module.node->name);
  return bad_input("no module of the model is called \"" + target + "\"", "--lora-targets",
                   suggestion(target, names));
}

Result<std::vector<NamedModule>> targeted(const std::vector<NamedModule>& modules,
                                          const LoraRecipe& recipe, std::string_view head) {
  if (recipe.targets.size() == 1 && recipe.targets.front() == "all-linear")
    return all_linear(modules, head);
  for (const std::string& target : recipe.targets)
    if (std::none_of(modules.begin(), modules.end(),
                     [&](const NamedModule& m) { return matches(m.name, target); }))
      return unknown_target(target, modules);
  std::vector<NamedModule> chosen;
  for (const NamedModule& module : modules)
    if (std::any_of(recipe.targets.begin(), recipe.targets.end(),
                    [&](const std::string& target) { return matches(module.name, target); }))
      chosen.push_back(module);
  return chosen;
}

Result<void> check(const NamedModule& module, std::string_view model_type) {
  if (!module.node->projection)
    return unsupported("\"" + module.name + "\" is no linear layer", "--lora-targets",
                       "LoRA on embeddings and other modules is not modelled");
  if (incompatible(model_type, module.node->name))
    return bad_input(
        "peft refuses \"" + module.node->name + "\" in " + std::string(model_type) + " models",
        "--lora-targets", "leave it out");
  return {};
}

}  // namespace

Result<void> add_lora(family::PretrainedModel& model, const LoraRecipe& recipe,
                      std::string_view model_type) {
  const std::vector<NamedModule> modules = nn::named_modules(model.tree.root());
  const Result<std::vector<NamedModule>> chosen =
      targeted(modules, recipe, model.output_embeddings());
  if (!chosen) return tl::unexpected(chosen.error());
  const std::vector<ModuleNode::Named> base_parameters = nn::named_parameters(model.tree.root());
  std::vector<LoraLinear*> adapters;
  for (const NamedModule& module : *chosen) {
    if (const Result<void> fine = check(module, model_type); !fine) return fine;
    nn::Projection& base = *module.node->projection;
    auto adapter = std::make_unique<LoraLinear>(model.tree, base, recipe);
    adapters.push_back(adapter.get());
    base.adapter = std::move(adapter);
  }
  for (const ModuleNode::Named& parameter : base_parameters)
    parameter.tensor.impl().requires_grad = false;
  for (LoraLinear* adapter : adapters) {
    cast_to_float32(adapter->lora_A);
    cast_to_float32(adapter->lora_B);
  }
  return {};
}

}  // namespace memtape::torch
