// SPDX-License-Identifier: Apache-2.0
// Megatron's optimizers (megatron/core/optimizer): Adam on float32 copies of the parameters, either
// of whole parameters (Float16OptimizerWithFloat16Params) or of the shard that this rank holds
// (DistributedOptimizer). Adam is Transformer Engine's FusedAdam, whose kernels take no memory, or
// torch's if that is not installed. Muon handles matrices itself.
#pragma once

#include <memory>
#include <vector>

#include "framework/megatron/muon.h"
#include "framework/megatron/param_and_grad_buffer.h"
#include "framework/torch/optimizer.h"

namespace memtape::megatron {

class MegatronOptimizer {
 public:
  /// `shard` says which shard of each buffer this rank holds, as [dense, expert].
  MegatronOptimizer(const Arguments& a, std::vector<ParamAndGradBuffer>& buffers,
                    std::array<std::int64_t, 2> shard);
  /// optimizer.zero_grad(). It runs at the start of the next step, so copies of gradients live on
  /// between steps.
  void zero_grad();
  /// `overflows` means that gradients in fp16 are not finite yet. Then the step ends before the
  /// update (MixedPrecisionOptimizer.step).
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
    /// Its zeros are counted: param_is_not_shared, ..._tensor_parallel_duplicate.
    bool counted = true;
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
  std::vector<Tensor> gradients_;  ///< main_param.grad of each parameter
  std::vector<Tensor> scalars_;
  std::vector<std::unique_ptr<torch::Optimizer>> torch_adams_;
};

}  // namespace memtape::megatron
