// SPDX-License-Identifier: Apache-2.0
#include "framework/torch/inductor/execution.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "ghost/autograd/node.h"
#include "ghost/ops/cublaslt.h"
#include "ghost/ops/matmul.h"
#include "ghost/session.h"

namespace memtape::torch::inductor {
namespace {

bool is_product(std::string_view op) {
  constexpr std::array<std::string_view, 4> kProducts{"mm", "addmm", "bmm", "baddbmm"};
  return std::find(kProducts.begin(), kProducts.end(), op) != kProducts.end();
}

}  // namespace

Execution::Execution(const Graph& graph, Buffers buffers, const std::vector<ValueId>& kept)
    : graph_(graph), buffers_(std::move(buffers)), last_(graph.size()) {
  for (const ValueId id : kept) last_[id] = kForever;
}

Buffers Execution::run(const std::vector<Step>& steps) {
  for (std::size_t i = 0; i < steps.size(); ++i)
    for (const ValueId read : steps[i].reads)
      if (last_[read] != kForever) last_[read] = i + 1;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    make(steps[i], i + 1);
    for (const ValueId read : steps[i].reads)
      if (last_[read] == i + 1) buffers_[read].reset();
  }
  return std::move(buffers_);
}

void Execution::make(const Step& step, std::size_t at) {
  const Value& value = graph_[step.value];
  const ghost::ScopeGuard scope(value.scope);
  const ghost::Op op(value.op, {}, value.role);
  if (value.kind == Value::Kind::fused && takes_over_buffer(step, at)) return;
  buffers_[step.value] = ghost::empty(value.sizes, value.dtype);
  if (std::string_view(value.op) == "addmm" && !value.backward)
    ghost::use_cublaslt();
  else if (is_product(value.op))
    ghost::use_cublas();
  if (value.scratch > 0) const Tensor scratch = ghost::empty({value.scratch}, DType::uint8);
}

bool Execution::takes_over_buffer(const Step& step, std::size_t at) {
  const Value& value = graph_[step.value];
  for (const ValueId read : step.reads) {
    Tensor& operand = buffers_[read];
    if (last_[read] != at || !operand.defined()) continue;
    if (graph_[read].kind == Value::Kind::input || graph_[read].held) continue;
    if (operand.dtype() != value.dtype || operand.numel() != ghost::numel(value.sizes)) continue;
    buffers_[step.value] = std::exchange(operand, {}).view(value.sizes);
    return true;
  }
  return false;
}

}  // namespace memtape::torch::inductor
