// SPDX-License-Identifier: Apache-2.0
// EvaluationEngine: deepspeed.initialize() of a model without an optimizer under ZeRO 3
// (_configure_zero_optimizer of deepspeed/runtime/engine.py). It only partitions and gathers the
// model's parameters.
#pragma once

#include <memory>
#include <vector>

#include "framework/deepspeed/parameter_offload.h"
#include "framework/torch/train_loop.h"
#include "nn/activation_hooks.h"

namespace memtape::deepspeed {

class EvaluationEngine final : public torch::DrivenModel {
 public:
  EvaluationEngine(family::PretrainedModel& model, const DsConfig& config,
                   const TrainRecipe& recipe)
      : DrivenModel(model), offload_(model, config, recipe, recipe.layout.gpus) {}

  void call(const std::function<Outputs()>& module) override {
    const nn::ActivationHooks activations(offload_.activation_hooks());
    offload_.before_module();
    offload_.after_module(module());
  }

  std::shared_ptr<void> gathered(const std::vector<Tensor>& parameters) {
    return offload_.gathered(parameters);
  }

 private:
  ParameterOffload offload_;
};

}  // namespace memtape::deepspeed
