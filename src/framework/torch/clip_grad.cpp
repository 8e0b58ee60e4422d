// SPDX-License-Identifier: Apache-2.0
#include "framework/torch/clip_grad.h"

#include <algorithm>

#include "ghost/ops/foreach.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"
#include "ghost/session.h"

namespace memtape::torch {
namespace {

using ghost::Tensor;

/// Gradients in groups of one dtype, in order of first appearance (_group_tensors_by_device_and_dtype).
std::vector<std::vector<Tensor>> grouped_by_dtype(const std::vector<Tensor>& parameters) {
  std::vector<std::vector<Tensor>> groups;
  for (const Tensor& parameter : parameters) {
    if (!parameter.impl().grad) continue;
    const Tensor grad = parameter.grad();
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const std::vector<Tensor>& g) { return g.front().dtype() == grad.dtype(); });
    if (group == groups.end()) group = groups.emplace(groups.end());
    group->push_back(grad);
  }
  return groups;
}

Tensor total_norm_of(const std::vector<Tensor>& parameters) {
  std::vector<Tensor> norms;
  for (const std::vector<Tensor>& group : grouped_by_dtype(parameters))
    for (Tensor& norm : ghost::foreach_norm(group)) norms.push_back(norm.unsqueeze(0));
  return ghost::vector_norm(ghost::cat(norms, 0));
}

}  // namespace

void clip_grad_norm(const std::vector<Tensor>& parameters) {
  const bool any = std::any_of(parameters.begin(), parameters.end(), [](const Tensor& p) { return p.impl().grad; });
  if (!any) return;
  const ghost::GradMode no_grad(false);
  const Tensor total_norm = total_norm_of(parameters);
  const Tensor clip_coef = ghost::rdiv(1.0, total_norm.add(1e-6));
  const Tensor clamped = ghost::plain_unary("clamp", clip_coef);
}

}  // namespace memtape::torch
