// SPDX-License-Identifier: Apache-2.0
#include "framework/torch/lora_parameters.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>

#include "framework/torch/lora_targets.h"
#include "ghost/autocast.h"
#include "ghost/ops/matmul.h"
#include "nn/layers.h"
#include "nn/parametrize.h"
#include "release/trainer_changes.h"
#include "release/transformers_changes.h"

namespace memtape::torch {
namespace {

using ghost::Tensor;
using nn::ModuleNode;

/// alpha / r: by 1 nothing is multiplied, any other number does.
double scaling_of(const LoraRecipe& recipe) { return recipe.scales ? 2.0 : 1.0; }

/// _MODEL_TO_CONVERSION_PATTERN (transformers/conversion_mapping.py) with peft's own addition.
constexpr auto kLikeMixtral = std::to_array<std::string_view>({"mixtral", "minimax_m2"});
constexpr auto kLikeQwen2Moe = std::to_array<std::string_view>(
    {"afmoe",      "beam",         "cohere2_moe",    "deepseek_v2", "deepseek_v3", "deepseek_v32",
     "dots1",      "ernie4_5_moe", "exaone_moe",     "flex_olmo",   "glm4_moe",    "glm4_moe_lite",
     "glm4v_moe",  "glm_moe_dsa",  "hunyuan_v1_moe", "mellum",      "olmoe",       "qwen3_moe",
     "qwen3_next", "sarvam_mla",   "solar_open"});

/// _MOE_TARGET_MODULE_MAPPING: the names of the layers that are parts of tensors now.
struct OldNames {
  std::string_view router, gate, up, down;
  std::array<std::string_view, 4> all() const { return {router, gate, up, down}; }
};
constexpr OldNames kMixtralNames{"gate", "w1", "w3", "w2"};
constexpr OldNames kQwen2MoeNames{"gate", "gate_proj", "up_proj", "down_proj"};

const OldNames* old_names(std::string_view family) {
  if (std::ranges::find(kLikeMixtral, family) != kLikeMixtral.end()) return &kMixtralNames;
  if (std::ranges::find(kLikeQwen2Moe, family) != kLikeQwen2Moe.end()) return &kQwen2MoeNames;
  return nullptr;
}

bool is_target(const LoraRecipe& recipe, std::string_view old_name) {
  return std::ranges::any_of(recipe.targets, [&](const std::string& target) {
    return target == "all-linear" || names_module(old_name, target);
  });
}

/// Before transformers 5.0 each expert's layers are modules, which take adapters of their own, with
/// dropout: peft converts names only where experts are stacked.
bool has_expert_modules(const std::vector<nn::NamedModule>& modules) {
  return std::ranges::any_of(modules, [](const nn::NamedModule& m) {
    return m.node->projection && m.name.find(".experts.0.") != std::string::npos;
  });
}

/// What ParamWrapper raises a ValueError for, and what is not modelled.
Result<void> check_parameters(const LoraRecipe& recipe, std::string_view family) {
  const std::string hint = "target the attention's layers alone, or none of those options";
  if (recipe.dropout > 0 && ghost::has(changes::kExpertsAreStacked))
    return bad_input("peft cannot drop out in adapters of experts", "lora_dropout", hint);
  if (recipe.use_dora) return bad_input("peft has no DoRA for experts", "use_dora", hint);
  if (recipe.lora_bias) return bad_input("peft has no lora_bias for experts", "lora_bias", hint);
  if (!recipe.exclude_modules.empty() || !recipe.layers_to_transform.empty() ||
      !recipe.rank_pattern.empty())
    return unsupported("adapters of some experts only are not modelled", "--peft", hint);
  // All linear layers by their last names, of which one is a convolution's, too: "proj".
  if (family == "glm4v_moe" && is_target(recipe, "all-linear"))
    return unsupported("adapters of the vision tower's convolution are not modelled",
                       "--lora-targets", "name the layers");
  return {};
}

/// A parameter as its adapter finds it: as it is, or what another function makes of it first.
struct AdaptedValue {
  Tensor parameter;
  std::unique_ptr<nn::Parametrization> inner;
  ghost::Dims sizes;
  DType dtype;

  Tensor read() const { return inner ? inner->forward() : parameter; }
};

/// ParamWrapper._activate_lora: W + scaling * lhs @ rhs of a stack of experts (_LoraFactorsProxy).
class FactorsProxy final : public nn::Parametrization {
 public:
  FactorsProxy(AdaptedValue value, const LoraFactors& factors, double scaling)
      : value_(std::move(value)), scaling_(scaling) {
    const Tensor a = weight_A(factors), b = weight_B(factors);
    lhs_ = b.to(value_.dtype);
    rhs_ = a.to(value_.dtype);
  }

  Tensor forward() override {
    const ghost::AutocastContext no_autocast(false, DType::float32);
    return ghost::baddbmm(value_.read(), lhs_, rhs_, scaling_);
  }

 private:
  Tensor weight_A(const LoraFactors& factors) const {
    const Tensor& weight = factors.lora_A->weight;
    const std::int64_t experts = value_.sizes[0];
    return weight.view({experts, weight.size(0) / experts, weight.size(1)});
  }
  Tensor weight_B(const LoraFactors& factors) const {
    const Tensor& weight = factors.lora_B->weight;
    const std::int64_t experts = value_.sizes[0];
    return weight.view({weight.size(0), weight.size(1) / experts, experts}).permute({2, 0, 1});
  }

  AdaptedValue value_;
  Tensor lhs_, rhs_;
  double scaling_;
};

/// The same of a matrix (_LoraParameterProxy): the product of both is made first.
class DeltaProxy final : public nn::Parametrization {
 public:
  DeltaProxy(const Tensor& parameter, const LoraFactors& factors)
      : parameter_(parameter),
        delta_weight_(
            factors.lora_B->weight.matmul(factors.lora_A->weight).mul(2.0).to(parameter.dtype())) {}

  Tensor forward() override { return parameter_.add(delta_weight_); }

 private:
  Tensor parameter_, delta_weight_;
};

class ParamWrappers final : public nn::ParametrizingPatch {
 public:
  /// `patch` is what the module had before: quantized experts are dequantized first.
  ParamWrappers(const ModuleNode& node, double scaling, std::unique_ptr<nn::ForwardPatch> patch)
      : node_(node),
        scaling_(scaling),
        before_(std::move(patch)),
        inner_(dynamic_cast<nn::ParametrizingPatch*>(before_.get())) {}
  ghost::Dims value_sizes(const Tensor& parameter) const override {
    return inner_ ? inner_->value_sizes(parameter) : parameter.sizes();
  }
  DType value_dtype(const Tensor& parameter) const override {
    return inner_ ? inner_->value_dtype(parameter) : parameter.dtype();
  }
  nn::Linear& add(const nn::Scope& scope, std::int64_t in, std::int64_t out, DType dtype) {
    linears_.push_back(std::make_unique<nn::Linear>(scope, in, out, false, dtype));
    return *linears_.back();
  }
  void adapt(const Tensor& parameter, LoraFactors factors) {
    wrapped_.emplace_back(parameter.ptr().get(), factors);
  }

  std::unique_ptr<nn::Parametrization> activate(const Tensor& parameter) override {
    for (const auto& [wrapped, factors] : wrapped_) {
      if (wrapped != parameter.ptr().get()) continue;
      AdaptedValue value{parameter, inner_ ? inner_->activate(parameter) : nullptr,
                         value_sizes(parameter), value_dtype(parameter)};
      if (value.sizes.rank() == 2) return std::make_unique<DeltaProxy>(parameter, factors);
      return std::make_unique<FactorsProxy>(std::move(value), factors, scaling_);
    }
    return inner_ ? inner_->activate(parameter) : nullptr;
  }
  /// Of a router's layer that is a module of its own (AFMoE). Other modules that have parameters of
  /// this kind make more than a tensor: theirs is never called.
  Tensor forward(const Tensor& x) override {
    if (!node_.projection) return x;
    const Tensor& weight = node_.projection->weight;
    const nn::Parametrized parametrized(node_, weight);
    return ghost::linear(x, nn::value_of(weight), node_.projection->bias);
  }

 private:
  const ModuleNode& node_;
  double scaling_;
  std::unique_ptr<nn::ForwardPatch> before_;
  nn::ParametrizingPatch* inner_;
  std::vector<std::unique_ptr<nn::Linear>> linears_;
  std::vector<std::pair<const ghost::TensorImpl*, LoraFactors>> wrapped_;
};

/// target_parameters: "experts.gate_up_proj", the end of a parameter's name.
Result<ParameterTargets> named_parameters_of(const std::vector<nn::NamedModule>& modules,
                                             const LoraRecipe& recipe, std::string_view family) {
  if (const Result<void> good = check_parameters(recipe, family); !good)
    return tl::unexpected(good.error());
  ParameterTargets found;
  for (const nn::NamedModule& module : modules)
    for (const ModuleNode::Named& of : module.node->parameters)
      if (std::ranges::any_of(recipe.target_parameters, [&](const std::string& target) {
            return ("." + module.name + "." + of.name).ends_with("." + target);
          }))
        found.parameters.push_back({module, of.tensor, recipe.rank, scaling_of(recipe)});
  if (!found.parameters.empty()) return found;
  return bad_input("no parameter of the model has such a name", "--peft: target_parameters",
                   "the ends of parameters' names: experts.gate_up_proj");
}

nn::Scope parameter_adapter(nn::ModuleTree& tree, ModuleNode& node, std::string_view name) {
  return nn::Scope(tree, node) / name / "default";
}

/// The nodes of the wrappers from the outermost in; the module's own parameters move inside them.
std::vector<ModuleNode*> nest(nn::ModuleTree& tree, ModuleNode& node, std::size_t wrappers) {
  std::vector<ModuleNode*> nodes{&node};
  while (nodes.size() <= wrappers) nodes.push_back(&tree.add(*nodes.back(), "base_layer"));
  nodes.back()->parameters = std::exchange(node.parameters, {});
  return nodes;
}

}  // namespace

Result<ParameterTargets> parameter_targets(const std::vector<nn::NamedModule>& modules,
                                           const LoraRecipe& recipe, std::string_view family) {
  if (!recipe.target_parameters.empty()) return named_parameters_of(modules, recipe, family);
  const OldNames* names = old_names(family);
  if (!names || has_expert_modules(modules) || !ghost::has(changes::kExpertTargetsAreConverted))
    return ParameterTargets{};
  const bool gate = is_target(recipe, names->gate), up = is_target(recipe, names->up),
             down = is_target(recipe, names->down), router = is_target(recipe, names->router);
  if (!gate && !up && !down && !router) return ParameterTargets{};
  if (gate != up)
    return bad_input("peft adapts the gate and the up projection of experts together",
                     "--lora-targets", std::string(names->gate) + " and " + std::string(names->up));
  if (const Result<void> good = check_parameters(recipe, family); !good)
    return tl::unexpected(good.error());
  ParameterTargets found;
  for (const std::string_view name : names->all()) found.converted.push_back(name);
  for (const nn::NamedModule& module : modules)
    for (const ModuleNode::Named& of : module.node->parameters) {
      if (gate && of.name == "gate_up_proj")
        found.parameters.push_back({module, of.tensor, 2 * recipe.rank, scaling_of(recipe)});
      if ((down && of.name == "down_proj") ||
          (router && of.name == "weight" && module.node->name == "gate"))
        found.parameters.push_back({module, of.tensor, recipe.rank, scaling_of(recipe)});
    }
  return found;
}

std::vector<LoraFactors> wrap_parameters(nn::ModuleTree& tree,
                                         const std::vector<ParameterTarget>& targets) {
  ModuleNode& node = *targets.front().module.node;
  const std::vector<ModuleNode*> nodes = nest(tree, node, targets.size());
  auto patch =
      std::make_unique<ParamWrappers>(node, targets.front().scaling, std::move(node.patch));
  std::vector<LoraFactors> made;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const Tensor& parameter = targets[i].parameter;
    const ghost::Dims sizes = patch->value_sizes(parameter);
    const DType dtype = patch->value_dtype(parameter);
    const std::int64_t experts = sizes.rank() == 3 ? sizes[0] : 1;
    const std::int64_t in = sizes[-1], out = sizes[-2];
    const std::int64_t inner = targets[i].rank * experts;
    ModuleNode& place = *nodes[targets.size() - 1 - i];
    nn::Linear& a = patch->add(parameter_adapter(tree, place, "lora_A"), in, inner, dtype);
    nn::Linear& b = patch->add(parameter_adapter(tree, place, "lora_B"), inner, out, dtype);
    made.push_back({&a, &b});
    patch->adapt(parameter, made.back());
  }
  node.patch = std::move(patch);
  return made;
}

}  // namespace memtape::torch
