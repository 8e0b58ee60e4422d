// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "framework/torch/inductor/graph.h"
#include "framework/torch/inductor/schedule.h"
#include "ghost/autograd/node.h"
#include "ghost/ops/matmul.h"
#include "ghost/session.h"

namespace memtape::torch::inductor {
namespace {

using Buffers = std::vector<Tensor>;

/// One half of the generated code: buffers by value, each dropped behind its last reader.
class Execution {
 public:
  Execution(const Graph& graph, Buffers buffers, const std::vector<ValueId>& kept)
      : graph_(graph), buffers_(std::move(buffers)), last_(graph.size()) {
    for (const ValueId id : kept) last_[id] = kForever;
  }

  Buffers run(const std::vector<Step>& steps) {
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

 private:
  static constexpr std::size_t kForever = ~std::size_t{0};

  void make(const Step& step, std::size_t at) {
    const Value& value = graph_[step.value];
    const ghost::Op op(value.op, {});
    if (value.kind == Value::Kind::fused && takes_over_buffer(step, at)) return;
    buffers_[step.value] = ghost::empty(value.sizes, value.dtype);
    if (std::string_view(value.op) == "mm") ghost::use_cublas();
    if (value.scratch > 0) const Tensor scratch = ghost::empty({value.scratch}, DType::uint8);
  }

  /// In place of an operand of its size that ends here.
  bool takes_over_buffer(const Step& step, std::size_t at) {
    const Value& value = graph_[step.value];
    for (const ValueId read : step.reads) {
      Tensor& operand = buffers_[read];
      if (last_[read] != at || !operand.defined() || !is_made_here(read)) continue;
      if (operand.dtype() != value.dtype || operand.numel() != ghost::numel(value.sizes)) continue;
      buffers_[step.value] = std::exchange(operand, {}).view(value.sizes);
      return true;
    }
    return false;
  }

  /// Inputs belong to the caller.
  bool is_made_here(ValueId id) const { return graph_[id].kind != Value::Kind::input; }

  const Graph& graph_;
  Buffers buffers_;
  std::vector<std::size_t> last_;  ///< step after which a buffer goes; 0: nobody reads it
};

struct CompiledFunctionBackward final : ghost::Node {
  CompiledFunctionBackward(std::shared_ptr<const Graph> compiled, std::vector<ValueId> saved_ids)
      : Node("CompiledFunctionBackward"),
        graph(std::move(compiled)),
        ids(std::move(saved_ids)),
        saved(ids.size()) {}

  void apply(ghost::Gradients& in, ghost::Gradients& out) override {
    const ghost::GradMode no_grad(false);
    {
      const ghost::In gradient(in[0]);
      const ghost::Op read("CompiledFunctionBackward", {&gradient});
    }
    Buffers buffers(graph->size());
    std::vector<ValueId> given = ids, outputs = graph->weight_gradients;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      buffers[ids[i]] = saved[i].unpack();
      saved[i].reset();  // the boxed call lets go of what it was given
    }
    buffers[graph->grad_output] = in[0];
    in[0].reset();
    given.push_back(graph->grad_output);
    outputs.push_back(graph->grad_input);
    Execution execution(*graph, std::move(buffers), outputs);
    buffers =
        execution.run(schedule(*graph, {.backward = true, .outputs = outputs, .given = given}));
    out[0] = buffers[graph->grad_input];
    for (std::size_t i = 0; i < graph->weight_gradients.size(); ++i)
      out[i + 1] = buffers[graph->weight_gradients[i]];
  }
  void release() override {
    for (ghost::Saved& one : saved) one.reset();
  }

  std::shared_ptr<const Graph> graph;
  std::vector<ValueId> ids;
  std::vector<ghost::Saved> saved;
};

}  // namespace

Tensor run_compiled(const std::shared_ptr<const Graph>& graph, const Tensor& hidden,
                    const std::vector<Tensor>& weights) {
  const ghost::Session& s = ghost::session();
  const bool differentiable = s.grad_enabled && !s.skipping;
  const std::vector<ValueId> saved = saved_values(*graph);
  Buffers buffers(graph->size());
  buffers[graph->hidden] = hidden;
  std::vector<ValueId> outputs = saved;
  outputs.push_back(graph->output);
  {
    const ghost::GradMode no_grad(false);
    Execution execution(*graph, std::move(buffers), outputs);
    const std::vector<ValueId> given{graph->hidden};
    buffers = execution.run(schedule(*graph, {.outputs = outputs, .given = given}));
  }
  Tensor output = buffers[graph->output];
  if (!differentiable) return output;
  const auto node = ghost::make_node<CompiledFunctionBackward>(graph, saved);
  node->edges.push_back(ghost::gradient_edge(hidden));
  for (const Tensor& weight : weights) node->edges.push_back(ghost::gradient_edge(weight));
  for (std::size_t i = 0; i < saved.size(); ++i) node->saved[i].keep(buffers[saved[i]]);
  ghost::set_history(output, node);
  return output;
}

}  // namespace memtape::torch::inductor
