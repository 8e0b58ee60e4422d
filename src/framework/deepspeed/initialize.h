// SPDX-License-Identifier: Apache-2.0
// deepspeed.initialize(): it returns the engine that a program calls instead of its model, of
// backward and of its optimizer (deepspeed/runtime/engine.py).
#pragma once

#include <memory>
#include <vector>

#include "framework/deepspeed/ds_config.h"
#include "framework/deepspeed/engine_optimizer.h"
#include "framework/deepspeed/zero_init.h"
#include "framework/torch/train_loop.h"

namespace memtape::deepspeed {

/// _cast_module_mixed_precision: parameters of another dtype are cast one by one, and buffers are
/// not. Below ZeRO 3, nothing else happens to a model without an optimizer.
void cast_parameters(family::PretrainedModel& model, DType dtype);

/// Casts buffers to the model's dtype, which tensor constructors under zero.Init give them.
void cast_buffers(family::PretrainedModel& model, DType dtype);

/// The parameter groups of a program, some of whose parameters may be in a second group. Empty
/// groups are left out (_configure_optimizer of deepspeed/runtime/engine.py removes them).
std::vector<std::vector<Tensor>> parameter_groups(const std::vector<Tensor>& parameters,
                                                  const std::vector<Tensor>& second_group);

/// Makes a model whose parameters are partitioned as its modules are made, before adapters are
/// added.
Result<std::unique_ptr<family::PretrainedModel>> make_under_zero_init(const Config& config,
                                                                      const TrainRecipe& recipe,
                                                                      ZeroInit& zero_init);

class Engine final : public torch::DrivenModel {
 public:
  /// `second_group` are the parameters that the program's optimizer has in a second group, which
  /// ZeRO keeps apart.
  Engine(family::PretrainedModel& model, const DsConfig& config, const TrainRecipe& recipe,
         Rank rank, const std::vector<Tensor>& second_group = {});

  void call(const std::function<Outputs()>& module) override;

  /// Whether the loss is first divided by the number of micro-batches (scale_wrt_gas).
  enum class Scaling { by_accumulation, none };
  /// backward(loss). `boundary` marks the last micro-batch before a step.
  void backward(const Tensor& loss, bool boundary, Scaling scaling);
  /// step(), after which the gradients are dropped.
  void step();

  torch::Optimizer& optimizer() { return optimizer_->basic(); }
  torch::StaticBytes statics() override;

  /// Gathers parameters that are read outside of their module, for as long as the returned object
  /// lives.
  std::shared_ptr<void> gathered(const std::vector<Tensor>& parameters) {
    return optimizer_->gathered(parameters);
  }
  /// Gathers all parameters for a model that generates, for as long as the returned object lives.
  std::shared_ptr<void> unwrapped() { return optimizer_->unwrapped(); }

 private:
  bool packed_sequences_, offloads_optimizer_;
  /// The optimizer that was made over the model's own parameters, if it has states before its first
  /// step. ZeRO makes another one over its partitions, and the engine keeps both.
  std::unique_ptr<torch::Optimizer> basic_optimizer_;
  torch::StaticBytes whole_;
  std::unique_ptr<EngineOptimizer> optimizer_;
  Tensor global_grad_norm_;
};

}  // namespace memtape::deepspeed
