// SPDX-License-Identifier: Apache-2.0
// EngineOptimizer: the optimizer that deepspeed.initialize() wraps around the basic one
// (base_optimizer.py), as the engine drives it through forward, backward and step.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <vector>

#include "framework/torch/optimizer.h"
#include "ghost/tensor.h"

namespace memtape::deepspeed {

using ghost::Tensor;

struct Rank {
  std::int64_t index = 0, world_size = 1;
};

class EngineOptimizer {
 public:
  EngineOptimizer() = default;
  virtual ~EngineOptimizer() = default;
  EngineOptimizer(const EngineOptimizer&) = delete;
  EngineOptimizer& operator=(const EngineOptimizer&) = delete;

  /// clear_backward_seen_flag, when a forward begins.
  virtual void before_forward() {}
  /// Around the model's own forward.
  virtual void before_module() {}
  virtual void after_module(const std::vector<Tensor*>&) {}
  /// The loss as it is differentiated: ZeRO's optimizers multiply it by their scale.
  virtual Tensor scale_if_loss(const Tensor& loss) { return loss; }
  /// Before the backward of a micro-batch; `boundary`: the last before a step.
  virtual void backward_prologue(bool) {}
  /// After it: _backward_epilogue of the engine, allreduce_gradients() and what follows.
  virtual void backward_epilogue(bool boundary) = 0;
  virtual void step() = 0;
  virtual void zero_grad() = 0;

  virtual torch::Optimizer& basic() = 0;
  /// Of master weights and gradient buffers: those that stay between steps.
  virtual Bytes master_bytes() const = 0;
  /// Of the gradients a step is made of.
  virtual Bytes gradient_bytes() const = 0;
  /// Parameters that are read outside of their module are whole while what this gives lives; null
  /// where they are anyway.
  virtual std::shared_ptr<void> gathered(const std::vector<Tensor>&) { return nullptr; }
  /// All are whole, for a model that generates, while what this gives lives; null where they are.
  virtual std::shared_ptr<void> unwrapped() { return nullptr; }
  /// What is kept of the parameters on this rank, where that is not the whole model.
  virtual std::optional<Bytes> parameter_bytes() const { return std::nullopt; }

  /// _global_grad_norm; the engine keeps the one of the last step, too.
  Tensor global_grad_norm;
};

}  // namespace memtape::deepspeed
