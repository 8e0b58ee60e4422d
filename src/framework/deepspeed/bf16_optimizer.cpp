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

Bf16Optimizer::Bf16Optimizer(const std::vector<std::vector<Tensor>>& groups, const DsConfig& config,
                             const TrainRecipe& recipe, Rank rank)
    : config_(config) {
  const GradMode no_grad(false);
  for (const std::vector<Tensor>& parameters : groups) add_group(parameters, rank);
  torch::TensorList masters;
  for (const Group& group : groups_) masters.push_back(group.master);
  optimizer_ = make_basic_optimizer(config_, recipe, std::move(masters));
  if (!config_.immediate_grad_update) return;
  for (const Tensor& p : parameters_) {
    accumulators_.push_back(ghost::grad_accumulator(p));
    accumulators_.back()->add_hooks().after.push_back([this, p] {
      add_to_accumulated(p);
      p.impl().grad.reset();  // accumulate_hp_grads_and_remove_lp
    });
  }
}

/// One turn of _setup_for_real_optimizer.
void Bf16Optimizer::add_group(const std::vector<Tensor>& parameters, Rank rank) {
  std::vector<std::int64_t> numels;
  for (const Tensor& p : parameters) numels.push_back(p.numel());
  const FlatLayout layout(numels, rank.world_size, 1);
  Group& group = groups_.emplace_back();
  group.flat = flatten_parameters(parameters, layout);
  const std::int64_t size = layout.partition_size();
  group.master = narrow(group.flat, rank.index * size, size).clone().to(DType::float32);
  ghost::session().set_category(group.master, Category::optimizer_state);
  group.master.impl().requires_grad = true;
  group.gradients_flat =
      ghost::zeros({layout.numel()}, config_.grad_accum_dtype, Category::gradient);
  for (std::size_t i = 0; i < parameters.size(); ++i)
    gradients_.push_back(narrow(group.gradients_flat, layout.start(i), numels[i]));
  parameters_.insert(parameters_.end(), parameters.begin(), parameters.end());
}

Bytes Bf16Optimizer::master_bytes() const {
  Bytes bytes = 0;
  for (const Group& group : groups_) bytes += group.master.nbytes();
  return bytes;
}

Bytes Bf16Optimizer::gradient_bytes() const {
  Bytes bytes = 0;
  for (const Group& group : groups_) bytes += group.gradients_flat.nbytes();
  return bytes;
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
  if (!boundary) return;
  std::vector<Tensor> flat;
  for (const Group& group : groups_) flat.push_back(group.gradients_flat);
  all_reduce_in_buckets(flat, config_.communication_data_type);
}

void Bf16Optimizer::step() {
  const GradMode no_grad(false);
  const Tensor norm = global_norm_of_tensors(gradients_);
  global_grad_norm = norm;
  check_grad_norm(norm);
  if (config_.gradient_clipping > 0.0) clip_by_global_norm(norm);
  for (Group& group : groups_)
    group.master.impl().grad = narrow(group.gradients_flat, 0, group.master.numel()).ptr();
  optimizer_->step();
}

void Bf16Optimizer::zero_grad() {
  for (const Tensor& p : parameters_) p.impl().grad.reset();
}

}  // namespace memtape::deepspeed
