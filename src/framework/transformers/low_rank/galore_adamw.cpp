// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/low_rank/galore_adamw.h"

#include "ghost/ops/comparisons.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"
#include "ghost/session.h"

namespace memtape::transformers {

using ghost::Tensor;

LowRankAdamW::LowRankAdamW(torch::TensorList parameters, std::size_t first_target,
                           const LowRankRecipe& recipe, Projector::Kind kind)
    : Optimizer(std::move(parameters)),
      first_target_(first_target),
      projectors_(parameters_.size() - first_target, Projector(recipe, kind)),
      exp_avg_(parameters_.size()),
      exp_avg_sq_(parameters_.size()) {}

void LowRankAdamW::init_state(const Tensor& grad, std::size_t place) {
  if (exp_avg_[place].defined()) return;
  exp_avg_[place] = ghost::zeros_like(grad, Category::optimizer_state);
  exp_avg_sq_[place] = ghost::zeros_like(grad, Category::optimizer_state);
}

void LowRankAdamW::step_over(const torch::Places& places) {
  Tensor grad, denom, norm_grad;
  for (const std::size_t place : places) {
    const bool is_target = place >= first_target_;
    grad = parameters_[place].grad();
    if (is_target) grad = projectors_[place - first_target_].project(grad);
    init_state(grad, place);
    denom = ghost::sqrt(exp_avg_sq_[place]);
    norm_grad = exp_avg_[place].div(denom);
    if (is_target) norm_grad = full_rank_update(norm_grad, grad, place);
  }
}

ApolloAdamW::ApolloAdamW(torch::TensorList parameters, std::size_t first_target,
                         const LowRankRecipe& recipe)
    : LowRankAdamW(std::move(parameters), first_target, recipe,
                   recipe.svd ? Projector::Kind::svd : Projector::Kind::random),
      per_tensor_(recipe.per_tensor),
      scaled_grad_norms_(parameters_.size()) {}

void ApolloAdamW::step_over(const torch::Places& places) {
  LowRankAdamW::step_over(places);
  for (Tensor* local : {&grad_scaling_factor_, &scaled_grad_, &scaled_grad_norm_}) local->reset();
}

std::vector<const torch::TensorList*> ApolloAdamW::states() const {
  std::vector<const torch::TensorList*> lists = LowRankAdamW::states();
  lists.push_back(&scaled_grad_norms_);
  return lists;
}

Tensor ApolloAdamW::scaling_factor(const Tensor& norm_grad, const Tensor& grad,
                                   int norm_dim) const {
  const auto norm = [&](const Tensor& x) {
    return per_tensor_ ? ghost::vector_norm(x) : ghost::vector_norm(x, norm_dim);
  };
  return norm(norm_grad).div(norm(grad).add(1e-8));
}

Tensor ApolloAdamW::full_rank_update(Tensor norm_grad, const Tensor& grad, std::size_t place) {
  const Tensor full = parameters_[place].grad();
  const int norm_dim = full.size(0) < full.size(1) ? 0 : 1;
  if (!per_tensor_ && grad.size(1 - norm_dim) != full.size(1 - norm_dim))
    ghost::session().fail({ErrorKind::bad_input,
                           "apollo-torch's factors for channels do not fit gradients projected so",
                           "--optim_args: proj_type", "std, or scale_type=tensor"});
  grad_scaling_factor_ = scaling_factor(norm_grad, grad, norm_dim);
  scaled_grad_ = full.mul(grad_scaling_factor_);
  limit_growth(place);
  return scaled_grad_;
}

/// The norm-growth limiter; that the norm grows by more than one per cent is the rare case.
void ApolloAdamW::limit_growth(std::size_t place) {
  Tensor& before = scaled_grad_norms_[place];
  if (!before.defined()) {
    before = ghost::vector_norm(scaled_grad_);
  } else {
    scaled_grad_norm_ = ghost::vector_norm(scaled_grad_);
    {
      const Tensor growth = scaled_grad_norm_.div(before.add(1e-8));
      const Tensor is_less = ghost::lt(growth, ghost::kLimit);  // max(growth, 1.01)
    }
    scaled_grad_ = scaled_grad_.div(1.0);
    before = scaled_grad_norm_.div(1.0);
  }
  ghost::session().set_category(before, Category::optimizer_state);
}

}  // namespace memtape::transformers
