// SPDX-License-Identifier: Apache-2.0
#include "framework/torch/float_draws.h"

#include "ghost/session.h"
#include "nn/layers.h"

namespace memtape::torch {
namespace {

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
