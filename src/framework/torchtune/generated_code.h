// SPDX-License-Identifier: Apache-2.0
// What torch.compile leaves of a function: generated code with a node of autograd around it
// (CompiledFunctionBackward of functorch/_aot_autograd), whose backward is generated, too. It is
// given what the forward kept and lets go of each tensor after its last use.
#pragma once

#include <deque>
#include <functional>
#include <initializer_list>
#include <utility>
#include <vector>

#include "ghost/autograd/function.h"

namespace memtape::torchtune {

using ghost::Tensor;

/// The backward of generated code: `kept` is in the order in which the forward kept it.
using GeneratedBackward =
    std::function<void(std::vector<Tensor>& kept, ghost::Gradients& in, ghost::Gradients& out)>;

struct CompiledFunctionBackward final : ghost::Node {
  CompiledFunctionBackward() : Node("CompiledFunctionBackward") {}
  void apply(ghost::Gradients& in, ghost::Gradients& out) override;
  void release() override;

  std::deque<ghost::Saved> saved;
  GeneratedBackward backward;
};

/// `outputs` of generated code over `inputs`, parameters among them, get their history. Of `kept`
/// all that is defined is saved.
void set_generated(const std::vector<Tensor>& inputs, std::initializer_list<const Tensor*> outputs,
                   const std::vector<Tensor>& kept, GeneratedBackward backward);

/// empty_strided_cuda
Tensor buffer(const ghost::Dims& sizes, DType dtype);
/// extern_kernels.mm into a buffer [rows, columns].
Tensor mm_buffer(std::int64_t rows, std::int64_t columns, DType dtype);

}  // namespace memtape::torchtune
