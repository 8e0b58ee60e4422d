// SPDX-License-Identifier: Apache-2.0
// EngineOptimizer: the optimizer that deepspeed.initialize() wraps around the basic one
// (base_optimizer.py). The engine leads it through forward, backward and step.
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

  /// clear_backward_seen_flag, which runs when a forward begins.
  virtual void before_forward() {}
  /// Called around the model's own forward.
  virtual void before_module() {}
  virtual void after_module(const std::vector<Tensor*>&) {}
  /// The loss that is differentiated. ZeRO's optimizers multiply it by their scale.
  virtual Tensor scale_if_loss(const Tensor& loss) { return loss; }
  /// Called before the backward of a micro-batch. `boundary` marks the last one before a step.
  virtual void backward_prologue(bool) {}
  /// Called after the backward: _backward_epilogue of the engine, allreduce_gradients() and what
  /// follows.
  virtual void backward_epilogue(bool boundary) = 0;
  virtual void step() = 0;
  virtual void zero_grad() = 0;

  virtual torch::Optimizer& basic() = 0;
  /// The bytes of the master weights and gradient buffers that remain between steps.
  virtual Bytes master_bytes() const = 0;
  /// The bytes of the gradients from which a step is made.
  virtual Bytes gradient_bytes() const = 0;
  /// Gathers parameters that are read outside of their module; they are whole for as long as the
  /// returned object lives. It is null if they are whole anyway.
  virtual std::shared_ptr<void> gathered(const std::vector<Tensor>&) { return nullptr; }
  /// Gathers all parameters for a model that generates; they are whole for as long as the returned
  /// object lives. It is null if they are whole anyway.
  virtual std::shared_ptr<void> unwrapped() { return nullptr; }
  /// What this rank keeps of the parameters, if that is not the whole model.
  virtual std::optional<Bytes> parameter_bytes() const { return std::nullopt; }

  /// _global_grad_norm. The engine keeps the one of the last step, too.
  Tensor global_grad_norm;
};

}  // namespace memtape::deepspeed
