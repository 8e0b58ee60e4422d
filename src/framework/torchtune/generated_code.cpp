// SPDX-License-Identifier: Apache-2.0
#include "framework/torchtune/generated_code.h"

#include <span>

#include "ghost/ops/matmul.h"

namespace memtape::torchtune {

void CompiledFunctionBackward::apply(ghost::Gradients& in, ghost::Gradients& out) {
  const ghost::GradMode no_grad(false);
  const ghost::Op op("CompiledFunctionBackward", {});
  std::vector<Tensor> kept;
  for (ghost::Saved& one : saved) {
    kept.push_back(one.unpack());
    one.reset();
  }
  backward(kept, in, out);
}

void CompiledFunctionBackward::release() {
  for (ghost::Saved& one : saved) one.reset();
}

void set_generated(const std::vector<Tensor>& inputs, std::initializer_list<const Tensor*> outputs,
                   const std::vector<Tensor>& kept, GeneratedBackward backward) {
  const auto node = ghost::function_node<CompiledFunctionBackward>(std::span(inputs));
  if (!node) return;
  node->backward = std::move(backward);
  for (const Tensor& tensor : kept)
    if (tensor.defined()) node->saved.emplace_back().keep(tensor);
  for (const Tensor* output : outputs) ghost::set_history(*output, node);
}

Tensor buffer(const ghost::Dims& sizes, DType dtype) { return ghost::empty(sizes, dtype); }

Tensor mm_buffer(std::int64_t rows, std::int64_t columns, DType dtype) {
  const ghost::Op op("mm", {});
  Tensor out = ghost::empty({rows, columns}, dtype);
  ghost::use_cublas();
  return out;
}

}  // namespace memtape::torchtune
