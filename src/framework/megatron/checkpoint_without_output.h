// SPDX-License-Identifier: Apache-2.0
// CheckpointWithoutOutput of megatron/core/tensor_parallel/random.py: a function whose outputs give
// their memory back once their user has run, and are made again when the gradient of what the user
// made arrives. What else saved them sees the new ones. --recompute-modules layernorm, moe_act and
// mla_up_proj are such.
#pragma once

#include "framework/megatron/function.h"

namespace memtape::megatron {

class CheckpointWithoutOutput {
 public:
  using Outputs = std::vector<Tensor>;
  using Function = std::function<Outputs(std::span<const Tensor>)>;

  Outputs checkpoint(Function function, const std::vector<Tensor>& inputs);
  /// Nothing where nothing was checkpointed.
  void discard_output_and_register_recompute(const Tensor& made_by_user);

 private:
  struct Call;

  Outputs outputs_;
  ghost::Ptr<ghost::Node> call_;  ///< a Call; null where no gradients are wanted
};

}  // namespace memtape::megatron
