// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "framework/torch/inductor/execution.h"
#include "framework/torch/inductor/graph.h"
#include "framework/torch/inductor/schedule.h"
#include "ghost/autograd/node.h"
#include "ghost/session.h"

namespace memtape::torch::inductor {
namespace {

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
