// SPDX-License-Identifier: Apache-2.0
// Optimizer: torch.optim's optimizers on ghost tensors. The first step makes the states, parameter
// by parameter. What a step allocates for a moment depends on its form: fused kernels, foreach
// lists or a loop over parameters.
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
#include "ghost/tensor_list.h"
#include "workload/step_choices.h"

namespace memtape {
struct TrainRecipe;
}

namespace memtape::torch {

using ghost::Tensor;
using ghost::TensorList;
using Places = std::vector<std::size_t>;

class Optimizer {
 public:
  explicit Optimizer(TensorList parameters) : parameters_(std::move(parameters)) {}
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// The parameters from place `first` on are a separate param_group. A step handles one group
  /// after the other.
  void second_group_from(std::size_t first) { second_group_ = first; }
  /// An op that reads a parameter's gradient together with its state reads this tensor for as long
  /// as it runs: DTensor brings gradients into the placement of their parameters in every op. It is
  /// undefined if the gradient itself will do.
  using Operand = std::function<Tensor(const Tensor& parameter)>;
  void reads_gradients_as(Operand operand) { operand_ = std::move(operand); }
  /// optimizer.step(), which skips parameters without a gradient.
  void step();
  /// optimizer.zero_grad(set_to_none=True)
  void zero_grad();
  /// load_state_dict of a state that was moved to the GPU. Step counters that the constructor made
  /// on the host stay on the GPU from then on (AcceleratedOptimizer of accelerate/optimizer.py).
  virtual void move_state_to_gpu() {}
  /// The bytes of all state tensors on the GPU.
  virtual Bytes state_bytes() const;
  bool has_gradients() const { return !places_with_gradient().empty(); }
  /// Whether the kernels scale gradients and skip steps themselves (_step_supports_amp_scaling),
  /// which fused kernels do.
  virtual bool step_supports_amp_scaling() const { return false; }

  const TensorList& parameters() const { return parameters_; }

 protected:
  /// One step over the parameters at these places. Gradient mode is off.
  virtual void step_over(const Places& places) = 0;
  /// All lists of states, each with one element for each parameter, which is undefined if there is
  /// no state.
  virtual std::vector<const TensorList*> states() const = 0;

  /// Whether the locals of a step live on from one group to the next.
  virtual bool one_pass_over_groups() const { return false; }

  Places places_with_gradient() const;
  /// The places grouped by the parameters' dtype (_group_tensors_by_device_and_dtype).
  std::vector<Places> grouped(const Places& places) const;
  TensorList grads_at(const Places& places) const;
  /// The gradients at these places as one op reads them, if that takes memory.
  TensorList gradient_operands(const Places& places) const;
  /// torch.zeros_like(parameter). Only the first call allocates.
  void init_zeros_like(TensorList& state, std::size_t place) const;
  /// The module of a parameter. The parameter's state counts as that module's.
  ScopeId scope_of(std::size_t place) const;

  TensorList parameters_;

 private:
  Operand operand_;
  std::size_t second_group_ = std::numeric_limits<std::size_t>::max();
};

/// Whether torch has this optimizer in this form for the GPU. If not, the Error names the forms
/// that exist.
Result<void> check_optimizer(OptimizerName optimizer, OptimizerImpl form);

/// The optimizer that the recipe names, for the parameters that require gradients, in the order of
/// model.parameters().
std::unique_ptr<Optimizer> make_optimizer(const TrainRecipe& recipe, TensorList parameters);

}  // namespace memtape::torch
