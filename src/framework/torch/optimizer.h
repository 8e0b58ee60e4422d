// SPDX-License-Identifier: Apache-2.0
// Optimizer: torch.optim's optimizers on ghost tensors. State comes to life per parameter at the
// first step; what a step allocates for a moment depends on the form: fused kernels, foreach lists
// or a loop over parameters.
//
// Each optimizer is a transcription of its Python file with the options of the plain loop (no
// amsgrad, not capturable, a Python number as learning rate). Step counts and other scalars live on
// the CPU unless the form is fused.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "base/result.h"
#include "ghost/tensor.h"
#include "workload/step_choices.h"

namespace memtape {
struct TrainRecipe;
}

namespace memtape::torch {

using ghost::Tensor;
using TensorList = std::vector<Tensor>;
using Places = std::vector<std::size_t>;

class Optimizer {
 public:
  explicit Optimizer(TensorList parameters) : parameters_(std::move(parameters)) {}
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// Parameters from place `first` on are a param_group of their own: a step takes the groups one
  /// after the other.
  void second_group_from(std::size_t first) { second_group_ = first; }
  /// What an op that reads a parameter's gradient beside its state makes of it for as long as it
  /// runs: DTensor brings gradients into the placement of their parameters in every op. Undefined
  /// where the gradient will do.
  using Operand = std::function<Tensor(const Tensor& parameter)>;
  void reads_gradients_as(Operand operand) { operand_ = std::move(operand); }
  /// optimizer.step(): parameters without a gradient are passed over.
  void step();
  /// optimizer.zero_grad(set_to_none=True)
  void zero_grad();
  /// load_state_dict of a state that was moved to the GPU: counters of steps that the constructor
  /// made on the host stay there from then on (AcceleratedOptimizer of accelerate/optimizer.py).
  virtual void move_state_to_gpu() {}
  /// Bytes of all state tensors on the GPU.
  virtual Bytes state_bytes() const;
  bool has_gradients() const { return !places_with_gradient().empty(); }
  /// Whether the kernels scale and skip by themselves (_step_supports_amp_scaling: fused ones do).
  virtual bool step_supports_amp_scaling() const { return false; }

  const TensorList& parameters() const { return parameters_; }

 protected:
  /// One step over the parameters at these places, without gradient mode.
  virtual void step_over(const Places& places) = 0;
  /// Every list of states, one element per parameter; undefined where there is none.
  virtual std::vector<const TensorList*> states() const = 0;

  /// Whether a step's locals live on from one group to the next.
  virtual bool one_pass_over_groups() const { return false; }

  Places places_with_gradient() const;
  /// The places of each dtype of parameter (_group_tensors_by_device_and_dtype).
  std::vector<Places> grouped(const Places& places) const;
  TensorList grads_at(const Places& places) const;
  /// The gradients at these places as one op reads them, where that takes memory.
  TensorList gradient_operands(const Places& places) const;
  /// torch.zeros_like(parameter), at the first call only.
  void init_zeros_like(TensorList& state, std::size_t place) const;
  /// A parameter's module, to which its state is billed.
  ScopeId scope_of(std::size_t place) const;

  TensorList parameters_;

 private:
  Operand operand_;
  std::size_t second_group_ = std::numeric_limits<std::size_t>::max();
};

/// Whether torch has this optimizer in this form for the GPU; else an Error that names the forms
/// there are.
Result<void> check_optimizer(OptimizerName optimizer, OptimizerImpl form);

/// The optimizer the recipe names, over the parameters that want gradients, in the order of
/// model.parameters().
std::unique_ptr<Optimizer> make_optimizer(const TrainRecipe& recipe, TensorList parameters);

}  // namespace memtape::torch
