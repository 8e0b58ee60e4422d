// SPDX-License-Identifier: Apache-2.0
// BF16_Optimizer (deepspeed/runtime/bf16_optimizer.py): ZeRO 1 of a bfloat16 model whose gradients
// are accumulated in float32, in a flat buffer of the whole model that lives from the constructor
// on.
#pragma once

#include <memory>
#include <vector>

#include "framework/deepspeed/ds_config.h"
#include "framework/deepspeed/engine_optimizer.h"
#include "framework/deepspeed/flat_layout.h"

namespace memtape::deepspeed {

class Bf16Optimizer final : public EngineOptimizer {
 public:
  Bf16Optimizer(std::vector<Tensor> parameters, const DsConfig& config, const TrainRecipe& recipe,
                Rank rank);

  void backward_epilogue(bool boundary) override;
  void step() override;
  void zero_grad() override;

  torch::Optimizer& basic() override { return *optimizer_; }
  Bytes master_bytes() const override { return master_.nbytes(); }
  Bytes gradient_bytes() const override { return gradients_flat_.nbytes(); }

 private:
  void flatten_parameters(const FlatLayout& layout);
  void add_to_accumulated(const Tensor& parameter) const;

  std::vector<Tensor> parameters_;
  DsConfig config_;
  std::vector<ghost::Ptr<ghost::Node>> accumulators_;
  Tensor flat_, master_;
  Tensor gradients_flat_;          ///< fp32_groups_gradients_flat
  std::vector<Tensor> gradients_;  ///< its pieces, one a parameter
  std::unique_ptr<torch::Optimizer> optimizer_;
};

}  // namespace memtape::deepspeed
