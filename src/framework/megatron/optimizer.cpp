// SPDX-License-Identifier: Apache-2.0
#include "framework/megatron/optimizer.h"

#include <algorithm>

#include "framework/torch/optimizers/adam.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/reductions.h"
#include "ghost/ops/views.h"
#include "workload/train_recipe.h"

namespace memtape::megatron {
namespace {

using ghost::empty;

Tensor scalar(const char* op_name, DType dtype) {
  const ghost::Op op(op_name, {});
  return empty({1}, dtype, Category::optimizer_state);
}

}  // namespace

MegatronOptimizer::MegatronOptimizer(const Arguments& a, std::vector<ParamAndGradBuffer>& buffers,
                                     std::array<std::int64_t, 2> shard)
    : a_(a), buffers_(buffers) {
  const ghost::GradMode without(false);
  take_scalars(std::ranges::any_of(
      buffers, [](const ParamAndGradBuffer& buffer) { return buffer.parameters.front().expert; }));
  std::vector<Dealt> mine = in_order(buffers);
  if (a.layer_wise) mine = dealt_to(mine, shard);
  std::vector<std::vector<Range>> held;
  for (const ParamAndGradBuffer& buffer : buffers) {
    const std::int64_t rank = shard[buffer.parameters.front().expert ? 1 : 0];
    held.push_back(a.use_distributed_optimizer ? shards(buffer.layout, buffer.options.ranks, rank)
                                               : buffer.layout.parameters);
  }
  for (const Dealt& one : mine) {
    const auto at = static_cast<std::size_t>(one.buffer - buffers.data());
    add_main(*one.buffer, one.buffer->parameters[one.index], held[at][one.index]);
  }
}

/// By optimizer (Muon's matrices first), by group, by buffer; shards come in the order of the
/// buffer, which is the reverse of the model's.
std::vector<Dealt> MegatronOptimizer::in_order(
    const std::vector<ParamAndGradBuffer>& buffers) const {
  std::vector<Dealt> all;
  for (const bool matrices : {true, false})
    for (const bool decays : {true, false})
      for (const ParamAndGradBuffer& buffer : buffers) {
        const std::size_t count = buffer.parameters.size();
        for (std::size_t k = 0; k < count; ++k) {
          const std::size_t i = a_.use_distributed_optimizer ? count - 1 - k : k;
          const Parameter& parameter = buffer.parameters[i];
          const bool managed = a_.muon && parameter.matrix;
          if (managed == matrices && parameter.decays == decays) all.push_back({&buffer, i});
        }
      }
  return all;
}

/// FusedAdam's _dummy_overflow_buf; _scale_one of bf16 or, of fp16, found_inf, another overflow
/// buffer and DynamicGradScaler's four. Experts have an optimizer of their own, and so have Muon's
/// matrices, which takes a scale alone.
void MegatronOptimizer::take_scalars(bool experts) {
  for (int i = 0; a_.muon && i < (experts && !a_.layer_wise ? 2 : 1); ++i)
    scalars_.push_back(scalar("_scale", DType::float32));
  for (int i = 0; i < (experts && !a_.muon ? 2 : 1); ++i) {
    if (a_.fused_kernels) scalars_.push_back(scalar("_dummy_overflow_buf", DType::int32));
    if (a_.params_dtype == DType::float32) {  // FP32Optimizer's _scale, DistributedOptimizer's both
      if (a_.use_distributed_optimizer)
        scalars_.push_back(scalar("_dummy_overflow_buf", DType::int32));
      scalars_.push_back(scalar("_scale", DType::float32));
      continue;
    }
    const bool scales = a_.params_dtype == DType::float16 && a_.fused_kernels;
    for (int k = 0; k < (scales ? 6 : 1); ++k) scalars_.push_back(scalar("_scale", DType::float32));
  }
}

/// The float32 copy: param.detach().clone().float(), or of the shard's elements.
void MegatronOptimizer::add_main(const ParamAndGradBuffer& buffer, const Parameter& parameter,
                                 const Range& held) {
  if (held.from >= held.to) return;
  Main main;
  main.elements = held.to - held.from;
  main.buffer = &buffer;
  main.decays = parameter.decays;
  main.counted = !parameter.copy && !parameter.replica;
  main.muon = a_.muon && parameter.matrix;
  const Tensor& model = parameter.tensor;
  main.sizes = a_.use_distributed_optimizer ? Dims{main.elements} : model.sizes();
  const ghost::Op op("float", {});
  if (a_.params_dtype == DType::float32) {
    main.master = ghost::alias(model, main.sizes, ghost::contiguous_strides(main.sizes));
  } else if (!a_.precision_aware_optimizer) {
    const Tensor clone = empty(main.sizes, model.dtype());
    main.master = empty(main.sizes, DType::float32, Category::optimizer_state);
  }
  mains_.push_back(std::move(main));
}

/// main_param.grad: the gradient buffer itself where it is float32, else a copy.
Tensor MegatronOptimizer::gradient_of(const Main& main) const {
  const Tensor& buffer = main.buffer->grad_data;
  if (buffer.dtype() == DType::float32 || a_.precision_aware_optimizer)
    return ghost::alias(buffer, main.sizes, ghost::contiguous_strides(main.sizes));
  const ghost::Op op("float", {});
  return empty(main.sizes, DType::float32, Category::gradient);
}

void MegatronOptimizer::zero_grad() {
  gradients_.clear();
  for (const auto& adam : torch_adams_) adam->zero_grad();
}

/// count_zeros_fp32 of optimizer/clip_grads.py: count_nonzero compares, and sums what it found as
/// 64-bit numbers.
void MegatronOptimizer::count_zeros() const {
  const ghost::Op op("count_nonzero", {});
  for (const Main& main : mains_) {
    if (!main.counted) continue;
    const Tensor differs = empty(main.sizes, DType::boolean);
    const Tensor ones = empty(main.sizes, DType::int64);
  }
}

/// get_grad_norm_fp32 of optimizer/clip_grads.py without Transformer Engine and Apex: a norm of
/// each gradient (local_multi_tensor_l2_norm of utils.py), which meet on the host, and its square.
void MegatronOptimizer::get_grad_norm() const {
  const ghost::Op op("get_grad_norm", {});
  Tensor grad_norm;
  const Tensor dummy_overflow_buf = empty({1}, DType::int32);
  std::vector<Tensor> norms;
  for (std::size_t i = 0; i < mains_.size(); ++i)
    if (mains_[i].counted) norms.push_back(ghost::vector_norm(gradients_[i]));
  grad_norm = empty({1}, DType::float32);
  while (!norms.empty()) norms.pop_back();
  const Tensor squared = empty({1}, DType::float32);
}

void MegatronOptimizer::step(bool overflows) {
  const ghost::GradMode without(false);
  for (const Main& main : mains_) gradients_.push_back(gradient_of(main));
  if (overflows) return;
  if (!a_.fused_kernels) get_grad_norm();
  if (a_.counts_zeros) count_zeros();
  if (a_.muon) step_muon();
  if (a_.fused_kernels) {
    step_fused();
    if (a_.layer_wise) gather_dealt(buffers_);
    return;
  }
  for (std::size_t i = 0; i < mains_.size(); ++i)
    mains_[i].master.impl().grad = gradients_[i].ptr();
  step_torch();
}

/// FusedAdam.step: states of every parameter that has none yet, then kernels over all of them.
void MegatronOptimizer::step_fused() {
  const ghost::Op op("initialize_state", {});
  for (Main& main : mains_) {
    if (main.muon || main.exp_avg.defined()) continue;
    const auto state = [&](DType dtype) {
      return empty(main.sizes, dtype, Category::optimizer_state);
    };
    main.exp_avg = state(a_.exp_avg_dtype);
    main.exp_avg_sq = state(a_.exp_avg_sq_dtype);
    if (a_.precision_aware_optimizer && a_.params_dtype != DType::float32)
      main.master = state(a_.main_params_dtype);
  }
}

/// OrthogonalizedOptimizer.step: one matrix after the other.
void MegatronOptimizer::step_muon() {
  for (Main& main : mains_) {
    if (!main.muon) continue;
    if (!main.exp_avg.defined()) {
      const ghost::Op op("zeros_like", {});
      main.exp_avg = empty(main.sizes, DType::float32, Category::optimizer_state);
    }
    orthogonalize(main.sizes, a_.muon_steps);
  }
}

/// ChainedOptimizer: experts have an optimizer of their own, which steps after the other.
void MegatronOptimizer::make_torch_adams() {
  for (const bool expert : {false, true}) {
    std::vector<Tensor> masters;
    std::size_t decaying = 0;
    for (const Main& main : mains_) {
      if (main.buffer->parameters.front().expert != expert) continue;
      masters.push_back(main.master);
      if (main.decays) ++decaying;
    }
    if (masters.empty()) continue;
    TrainRecipe recipe;
    recipe.optimizer = OptimizerName::adamw;
    recipe.optimizer_impl = OptimizerImpl::foreach;
    torch_adams_.push_back(torch::make_optimizer(recipe, std::move(masters)));
    torch_adams_.back()->second_group_from(decaying);
  }
}

void MegatronOptimizer::step_torch() {
  if (torch_adams_.empty()) make_torch_adams();
  for (const auto& adam : torch_adams_) adam->step();
}

Bytes MegatronOptimizer::state_bytes() const {
  Bytes bytes = 0;
  for (const auto& adam : torch_adams_) bytes += adam->state_bytes();
  for (const Main& main : mains_) {
    if (main.master.defined() && a_.params_dtype != DType::float32) bytes += main.master.nbytes();
    for (const Tensor* state : {&main.exp_avg, &main.exp_avg_sq})
      if (state->defined()) bytes += state->nbytes();
  }
  return bytes;
}

}  // namespace memtape::megatron
