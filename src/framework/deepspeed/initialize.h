// SPDX-License-Identifier: Apache-2.0
// deepspeed.initialize(): the engine that a program calls in place of its model, for the backward
// and in place of its optimizer (deepspeed/runtime/engine.py).
#pragma once

#include <memory>
#include <vector>

#include "framework/deepspeed/ds_config.h"
#include "framework/deepspeed/engine_optimizer.h"
#include "framework/deepspeed/zero_init.h"
#include "framework/torch/train_loop.h"

namespace memtape::deepspeed {

/// _cast_module_mixed_precision: parameters in another dtype are cast one by one; buffers stay. All
/// that becomes of a model without an optimizer, below ZeRO 3.
void cast_parameters(family::PretrainedModel& model, DType dtype);

/// Buffers in its dtype, as tensor constructors under zero.Init give them.
void cast_buffers(family::PretrainedModel& model, DType dtype);

/// A program's groups of parameters, of which some may be in a second one; without those that are
/// empty (_configure_optimizer of deepspeed/runtime/engine.py removes them).
std::vector<std::vector<Tensor>> parameter_groups(const std::vector<Tensor>& parameters,
                                                  const std::vector<Tensor>& second_group);

/// A model whose parameters are cut as its modules are made, before adapters come into it.
Result<std::unique_ptr<family::PretrainedModel>> make_under_zero_init(const Config& config,
                                                                      const TrainRecipe& recipe,
                                                                      ZeroInit& zero_init);

class Engine final : public torch::DrivenModel {
 public:
  /// `second_group`: parameters that the program's optimizer has in a second group, which ZeRO
  /// keeps apart.
  Engine(family::PretrainedModel& model, const DsConfig& config, const TrainRecipe& recipe,
         Rank rank, const std::vector<Tensor>& second_group = {});

  void call(const std::function<Outputs()>& module) override;

  /// Whether the loss is divided by the number of micro-batches first (scale_wrt_gas).
  enum class Scaling { by_accumulation, none };
  /// backward(loss); `boundary`: of the last micro-batch before a step.
  void backward(const Tensor& loss, bool boundary, Scaling scaling);
  /// step(), gradients dropped after it.
  void step();

  torch::Optimizer& optimizer() { return optimizer_->basic(); }
  torch::StaticBytes statics() override;

  /// Parameters read outside of their module are whole while what this gives lives.
  std::shared_ptr<void> gathered(const std::vector<Tensor>& parameters) {
    return optimizer_->gathered(parameters);
  }
  /// All parameters are whole, for a model that generates, while what this gives lives.
  std::shared_ptr<void> unwrapped() { return optimizer_->unwrapped(); }

 private:
  bool packed_sequences_, offloads_optimizer_;
  /// The optimizer that was made over the model's own parameters, where it has states before its
  /// first step: ZeRO makes another over its partitions, and the engine keeps this one, too.
  std::unique_ptr<torch::Optimizer> basic_optimizer_;
  torch::StaticBytes whole_;
  std::unique_ptr<EngineOptimizer> optimizer_;
  Tensor global_grad_norm_;
};

}  // namespace memtape::deepspeed
