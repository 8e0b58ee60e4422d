// SPDX-License-Identifier: Apache-2.0
#include "framework/deepspeed/basic_optimizer.h"

#include <utility>
#include <vector>

#include "ghost/ops/creation.h"
#include "ghost/session.h"
#include "workload/train_recipe.h"

namespace memtape::deepspeed {
namespace {

using torch::Places;
using torch::TensorList;

/// deepspeed.ops.adam.FusedAdam: one kernel over lists, with a flag of its own on the device.
class FusedAdam final : public torch::Optimizer {
 public:
  explicit FusedAdam(TensorList parameters)
      : Optimizer(std::move(parameters)),
        dummy_overflow_buf_(ghost::full({1}, DType::int32, Category::optimizer_state)) {}

 private:
  void step_over(const Places& places) override {
    for (std::size_t place : places) {
      init_zeros_like(exp_avg_, place);
      init_zeros_like(exp_avg_sq_, place);
    }
  }
  std::vector<const TensorList*> states() const override { return {&exp_avg_, &exp_avg_sq_}; }

  torch::Tensor dummy_overflow_buf_;
  TensorList exp_avg_, exp_avg_sq_;
};

}  // namespace

std::unique_ptr<torch::Optimizer> make_basic_optimizer(const DsConfig& config,
                                                       const TrainRecipe& recipe,
                                                       TensorList parameters) {
  if (!config.optimizer) return torch::make_optimizer(recipe, std::move(parameters));
  if (config.optimizer->kind == ConfiguredOptimizer::Kind::fused_adam)
    return std::make_unique<FusedAdam>(std::move(parameters));
  TrainRecipe named = recipe;
  named.optimizer = config.optimizer->name;
  named.optimizer_impl = config.optimizer->impl;
  return torch::make_optimizer(named, std::move(parameters));
}

}  // namespace memtape::deepspeed
