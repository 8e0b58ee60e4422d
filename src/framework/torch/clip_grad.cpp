// SPDX-License-Identifier: Apache-2.0
#include "framework/torch/clip_grad.h"

#include "ghost/ops/foreach.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"
#include "ghost/session.h"
#include "release/torch_changes.h"

namespace memtape::torch {
namespace {

using ghost::Tensor;

/// _get_total_norm, whose list of norms the caller may hold
Tensor total_norm_of(const std::vector<Tensor>& grads, const NormsOfAllRanks& of_all_ranks,
                     ghost::TensorList& norms) {
  for (const std::vector<std::size_t>& group : ghost::grouped_by_dtype(grads))
    for (const Tensor& norm : ghost::foreach_norm(ghost::at_places(grads, group)))
      norms.push_back(norm.unsqueeze(0));
  if (!of_all_ranks) return ghost::vector_norm(ghost::cat(norms, 0));
  const Tensor own = ghost::cat(norms, 0);
  return ghost::vector_norm(of_all_ranks(own));
}

}  // namespace

Tensor clip_grad_norm(const std::vector<Tensor>& parameters, const NormsOfAllRanks& of_all_ranks) {
  std::vector<Tensor> grads;
  for (const Tensor& parameter : parameters)
    if (parameter.impl().grad) grads.push_back(parameter.grad());
  if (grads.empty()) return {};
  const ghost::GradMode no_grad(false);
  ghost::TensorList norms;
  Tensor total_norm = total_norm_of(grads, of_all_ranks, norms);
  if (ghost::has(changes::kClipFreesNormsBefore)) norms.clear();
  const Tensor clip_coef = ghost::rdiv(1.0, total_norm.add(1e-6));
  const Tensor clip_coef_clamped = ghost::clamp(clip_coef, {.max = 1.0});
  return total_norm;
}

}  // namespace memtape::torch
