// SPDX-License-Identifier: Apache-2.0
// CheckpointWithoutOutput of megatron/core/tensor_parallel/random.py: a function whose outputs are
// freed once their user has run, and are made again when the gradient of the user's result arrives.
// Whatever else saved the outputs sees the new ones. --recompute-modules layernorm, moe_act and
// mla_up_proj work in this way.
#pragma once

#include "framework/megatron/function.h"

namespace memtape::megatron {

class CheckpointWithoutOutput {
 public:
  using Outputs = std::vector<Tensor>;
  using Function = std::function<Outputs(std::span<const Tensor>)>;

  Outputs checkpoint(Function function, const std::vector<Tensor>& inputs);
  /// Does nothing if nothing was checkpointed.
  void discard_output_and_register_recompute(const Tensor& made_by_user);

 private:
  struct Call;

  Outputs outputs_;
  ghost::Ptr<ghost::Node> call_;  ///< a Call; null if no gradients are required
};

}  // namespace memtape::megatron
