// SPDX-License-Identifier: Apache-2.0
// torch.autograd.Function on ghost tensors: a forward that says what it saves, and a backward that
// gets it back. Megatron's and Transformer Engine's layers are such functions, so autograd sees one
// node for each, whatever they do inside.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <vector>

#include "ghost/autograd/node.h"

namespace memtape::megatron {

using ghost::Dims;
using ghost::Tensor;

/// Computes the gradients of the inputs, in their order, from ctx.saved_tensors and the gradient of
/// the output. The gradient of the output lives until this returns.
using Backward = std::function<void(std::span<const Tensor> saved, const Tensor& grad,
                                    ghost::Gradients& inputs)>;

/// What the forward saves, in order. An undefined tensor keeps its place.
using ToSave = std::vector<Tensor>;

struct FunctionCall {
  const char* name;
  std::vector<Tensor> inputs;
  std::function<Tensor(ToSave&)> forward;
  Backward backward;
  /// Whether Python objects hold on to gradients that Python has made, as the goldens of NVIDIA's
  /// containers show. PyTorch 2.11 itself lets go of them when backward() returns.
  bool python_holds = true;
  /// Tensors that the node keeps beside what it saves (ctx.rng_states); the forward fills them in.
  std::shared_ptr<std::vector<Tensor>> own = {};
};

/// Function.apply(inputs...), whose forward runs without gradients.
Tensor apply(FunctionCall call);

/// tensor_parallel.checkpoint (CheckpointFunction of megatron/core/tensor_parallel/random.py) of a
/// function of several tensors. The tensors are kept, and the function runs again in backward.
Tensor checkpoint(const std::function<Tensor(std::span<const Tensor>)>& function,
                  const std::vector<Tensor>& inputs);

/// The gradient of such a parameter is added to its place in the gradient buffer as soon as it
/// arrives, and then dropped (DistributedDataParallel's hook on AccumulateGrad).
void accumulate_into_buffer(const Tensor& parameter);

}  // namespace memtape::megatron
