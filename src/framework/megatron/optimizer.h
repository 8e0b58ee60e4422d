// SPDX-License-Identifier: Apache-2.0
// Megatron's optimizers (megatron/core/optimizer): Adam on float32 copies of the parameters, whole
// (Float16OptimizerWithFloat16Params) or of the shard this rank holds (DistributedOptimizer).
// Adam is Transformer Engine's FusedAdam, whose kernels take no memory, or, where that is not
// installed, torch's. With Muon the matrices are its own.
#pragma once

#include <memory>
#include <vector>

#include "framework/megatron/muon.h"
#include "framework/megatron/param_and_grad_buffer.h"
#include "framework/torch/optimizer.h"

namespace memtape::megatron {

class MegatronOptimizer {
 public:
  /// `shard`: which of the shards of each buffer this rank holds, [dense, expert].
  MegatronOptimizer(const Arguments& a, std::vector<ParamAndGradBuffer>& buffers,
                    std::array<std::int64_t, 2> shard);
  /// optimizer.zero_grad(): at the start of the next step, so that copies of gradients live on
  /// between steps.
  void zero_grad();
  /// `overflows`: gradients in fp16 are not finite yet, which ends the step before the update
  /// (MixedPrecisionOptimizer.step).
  void step(bool overflows);
  Bytes state_bytes() const;
  /// get_loss_scale().
  Tensor loss_scale() const { return scalars_.empty() ? Tensor() : scalars_.back(); }

 private:
  struct Main {
    Tensor master, exp_avg, exp_avg_sq;
    std::int64_t elements = 0;
    const ParamAndGradBuffer* buffer = nullptr;
    Dims sizes;
    bool decays = true, muon = false;
    bool counted = true;  ///< for its zeros: param_is_not_shared, ..._tensor_parallel_duplicate
  };
  void add_main(const ParamAndGradBuffer& buffer, const Parameter& parameter, const Range& held);
  void take_scalars(bool experts);
  void count_zeros() const;
  void get_grad_norm() const;
  std::vector<Dealt> in_order(const std::vector<ParamAndGradBuffer>& buffers) const;
  void step_fused();
  void step_muon();
  void make_torch_adams();
  void step_torch();
  Tensor gradient_of(const Main& main) const;

  const Arguments& a_;
  const std::vector<ParamAndGradBuffer>& buffers_;
  std::vector<Main> mains_;
  std::vector<Tensor> gradients_;  ///< main_param.grad of each
  std::vector<Tensor> scalars_;
  std::vector<std::unique_ptr<torch::Optimizer>> torch_adams_;
};

}  // namespace memtape::megatron
