// SPDX-License-Identifier: Apache-2.0
#include "framework/deepspeed/bf16_optimizer.h"

#include <utility>

#include "framework/deepspeed/basic_optimizer.h"
#include "framework/deepspeed/flat_tensors.h"
#include "framework/deepspeed/grad_health.h"
#include "framework/deepspeed/unpartitioned.h"
#include "ghost/autograd/accumulate_grad.h"
#include "ghost/ops/creation.h"
#include "ghost/session.h"

namespace memtape::deepspeed {

using ghost::GradMode;

Bf16Optimizer::Bf16Optimizer(std::vector<Tensor> parameters, const DsConfig& config,
                             const TrainRecipe& recipe, Rank rank)
    : parameters_(std::move(parameters)), config_(config) {
  const GradMode no_grad(false);
  std::vector<std::int64_t> numels;
  for (const Tensor& p : parameters_) numels.push_back(p.numel());
  const FlatLayout layout(numels, rank.world_size, 1);
  flatten_parameters(layout);
  const std::int64_t size = layout.partition_size();
  master_ = narrow(flat_, rank.index * size, size).clone().to(DType::float32);
  ghost::session().set_category(master_, Category::optimizer_state);
  master_.impl().requires_grad = true;
  gradients_flat_ = ghost::zeros({layout.numel()}, config_.grad_accum_dtype, Category::gradient);
  for (std::size_t i = 0; i < parameters_.size(); ++i)
    gradients_.push_back(narrow(gradients_flat_, layout.start(i), numels[i]));
  optimizer_ = make_basic_optimizer(config_, recipe, {master_});
  if (!config_.immediate_grad_update) return;
  for (const Tensor& p : parameters_) {
    accumulators_.push_back(ghost::grad_accumulator(p));
    accumulators_.back()->add_hooks().after.push_back([this, p] {
      add_to_accumulated(p);
      p.impl().grad.reset();  // accumulate_hp_grads_and_remove_lp
    });
  }
}

void Bf16Optimizer::flatten_parameters(const FlatLayout& layout) {
  std::vector<Tensor> padded = parameters_;
  const std::int64_t end = layout.start(parameters_.size() - 1) + parameters_.back().numel();
  if (end < layout.numel())
    padded.push_back(ghost::zeros({layout.numel() - end}, parameters_.front().dtype()));
  flat_ = flatten(padded);
  ghost::session().set_category(flat_, Category::parameter);
  padded.clear();
  for (std::size_t i = 0; i < parameters_.size(); ++i)
    put_data(parameters_[i], narrow(flat_, layout.start(i), parameters_[i].numel()));
}

/// _update_hp_grad
void Bf16Optimizer::add_to_accumulated(const Tensor& parameter) const {
  if (!parameter.impl().grad) return;
  const GradMode no_grad(false);
  const Tensor cast = parameter.grad().to(config_.grad_accum_dtype);
}

void Bf16Optimizer::backward_epilogue(bool boundary) {
  if (!config_.immediate_grad_update)
    for (const Tensor& p : parameters_) add_to_accumulated(p);
  if (boundary) all_reduce_in_buckets({gradients_flat_}, config_.communication_data_type);
}

void Bf16Optimizer::step() {
  const GradMode no_grad(false);
  const Tensor norm = global_norm_of_tensors(gradients_);
  global_grad_norm = norm;
  check_grad_norm(norm);
  if (config_.gradient_clipping > 0.0) clip_by_global_norm(norm);
  master_.impl().grad = narrow(gradients_flat_, 0, master_.numel()).ptr();
  optimizer_->step();
}

void Bf16Optimizer::zero_grad() {
  for (const Tensor& p : parameters_) p.impl().grad.reset();
}

}  // namespace memtape::deepspeed
