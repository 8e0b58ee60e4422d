// SPDX-License-Identifier: Apache-2.0
// BF16_Optimizer (deepspeed/runtime/bf16_optimizer.py): ZeRO 1 of a bfloat16 model whose gradients
// are accumulated in float32. The constructor makes a flat buffer for the gradients of the whole
// model, which lives from then on.
#pragma once

#include <memory>
#include <vector>

#include "framework/deepspeed/ds_config.h"
#include "framework/deepspeed/engine_optimizer.h"
#include "framework/deepspeed/flat_layout.h"

namespace memtape::deepspeed {

class Bf16Optimizer final : public EngineOptimizer {
 public:
  /// `groups` are the optimizer's groups of parameters.
  Bf16Optimizer(const std::vector<std::vector<Tensor>>& groups, const DsConfig& config,
                const TrainRecipe& recipe, Rank rank);

  void backward_epilogue(bool boundary) override;
  void step() override;
  void zero_grad() override;

  torch::Optimizer& basic() override { return *optimizer_; }
  Bytes master_bytes() const override;
  Bytes gradient_bytes() const override;

 private:
  struct Group {
    Tensor flat, master;
    Tensor gradients_flat;  ///< fp32_groups_gradients_flat
  };

  void add_group(const std::vector<Tensor>& parameters, Rank rank);
  void add_to_accumulated(const Tensor& parameter) const;

  DsConfig config_;
  std::vector<Group> groups_;
  std::vector<Tensor> parameters_;  ///< those of all groups
  std::vector<ghost::Ptr<ghost::Node>> accumulators_;
  std::vector<Tensor> gradients_;  ///< pieces of the flat gradients, one for each parameter
  std::unique_ptr<torch::Optimizer> optimizer_;
};

}  // namespace memtape::deepspeed
