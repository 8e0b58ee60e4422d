// SPDX-License-Identifier: Apache-2.0
#include "framework/torch/float_draws.h"

#include <algorithm>
#include <array>

#include "ghost/session.h"
#include "nn/layers.h"

namespace memtape::torch {
namespace {

/// models/*/modeling_*.py of 5.8.1 whose _init_weights does not call super's.
constexpr std::array<std::string_view, 15> kDrawTheirOwnWay{
    "albert", "clip",       "dinov2", "falcon_mamba", "gpt2", "mamba", "mamba2", "mllama",
    "mt5",    "modernbert", "olmoe",  "siglip",       "t5",   "umt5",  "vit"};

/// The weight of a Linear or a convolution, whose kernels have three dimensions or more; null for
/// other modules, among them transformers' Conv1D.
const ghost::Tensor* product_weight(const nn::ModuleNode& module) {
  if (module.projection)
    return dynamic_cast<const nn::Linear*>(module.projection) ? &module.projection->weight
                                                              : nullptr;
  for (const nn::ModuleNode::Named& parameter : module.parameters)
    if (parameter.name == "weight" && parameter.tensor.dim() >= 3) return &parameter.tensor;
  return nullptr;
}

}  // namespace

bool draws_as_all_do(std::string_view model_type) {
  return std::find(kDrawTheirOwnWay.begin(), kDrawTheirOwnWay.end(), model_type) ==
         kDrawTheirOwnWay.end();
}

/// The inner model's __init__ and the head's end one level below the whole model's.
void FloatDraws::after_init(nn::ModuleNode& module) {
  if (depth() <= 1) draw(module);
}

void FloatDraws::draw(nn::ModuleNode& module) {
  for (nn::ModuleNode* const child : module.children) draw(*child);
  const ghost::Tensor* const weight = product_weight(module);
  if (!weight || !drawn_.insert(&module).second) return;
  const ghost::GradMode no_grad(false);
  const ghost::ScopeGuard guard(module.scope);
  const ghost::Tensor drawn = weight->to_float();
}

}  // namespace memtape::torch
