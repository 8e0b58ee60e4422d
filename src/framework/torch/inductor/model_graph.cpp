// SPDX-License-Identifier: Apache-2.0
#include "framework/torch/inductor/model_graph.h"

#include <string_view>
#include <utility>

#include "base/bytes.h"
#include "framework/torch/inductor/execution.h"
#include "framework/torch/inductor/lowered.h"
#include "framework/torch/inductor/partition.h"
#include "framework/torch/inductor/schedule.h"
#include "ghost/autograd/node.h"
#include "ghost/ops/creation.h"

namespace memtape::torch::inductor {
namespace {

/// CompiledFunction.backward. autograd makes zeros of the gradients that nobody gave
/// (set_materialize_grads), and holds all until the function returns.
struct CompiledModelBackward final : ghost::Node {
  explicit CompiledModelBackward(std::shared_ptr<const ModelGraph> compiled)
      : Node("CompiledFunctionBackward"), graph(std::move(compiled)), saved(graph->saved.size()) {}

  void apply(ghost::Gradients&, ghost::Gradients& out) override {
    const ghost::GradMode no_grad(false);
    const Graph& values = graph->graph;
    Tensor unused;
    if (graph->grad_logits) {
      const Value& tangent = values[*graph->grad_logits];
      unused = ghost::zeros(tangent.sizes, tangent.dtype);
    }
    Buffers buffers(values.size());
    std::vector<ValueId> given = graph->saved, outputs;
    for (std::size_t i = 0; i < saved.size(); ++i) {
      buffers[graph->saved[i]] = saved[i].unpack();
      saved[i].reset();  // the boxed call lets go of what it was given
    }
    given.push_back(graph->grad_loss);
    if (graph->grad_logits) given.push_back(*graph->grad_logits);
    for (const std::optional<ValueId>& gradient : graph->gradients)
      if (gradient) outputs.push_back(*gradient);
    if (graph->grad_hidden) outputs.push_back(*graph->grad_hidden);
    Execution execution(values, std::move(buffers), outputs);
    buffers =
        execution.run(schedule(values, {.backward = true, .outputs = outputs, .given = given}));
    for (std::size_t i = 0; i < graph->gradients.size(); ++i)
      if (graph->gradients[i])  // of a transposed weight's product, too
        out[i] =
            std::move(buffers[*graph->gradients[i]]).view(edges[i].function->metadata[0].sizes);
  }
  void release() override {
    for (ghost::Saved& one : saved) one.reset();
  }

  std::shared_ptr<const ModelGraph> graph;
  std::vector<ghost::Saved> saved;
};

ModelGraph lower(const TracedPass& pass, Lowered& lowered) {
  ModelGraph model;
  const auto value_of = [&](const Tensor& tensor) {
    return lowered.value_of(tensor.impl().storage->block, pass);
  };
  model.loss = value_of(pass.loss);
  lowered.graph[model.loss].held = true;
  if (pass.logits.defined()) {
    model.logits = value_of(pass.logits);
    lowered.graph[*model.logits].held = true;
  }
  LoweredBackward backward = lower_backward(lowered, pass);
  model.grad_loss = backward.grad_loss;
  model.grad_logits = backward.grad_logits;
  model.hidden = backward.hidden;
  model.grad_hidden = backward.grad_hidden;
  model.gradients = std::move(backward.gradients);
  return model;
}

/// Layout._pad_strides (torch/_inductor/ir.py): strides beyond 1,024 elements become multiples of
/// 128 bytes (config.py, padding_stride_threshold, padding_alignment_bytes). A padded tensor is as
/// long as its last element is far.
std::int64_t padded_length(const Value& value) {
  constexpr std::int64_t kThreshold = 1024, kAlignmentBits = 128 * 8;
  const std::int64_t align = kAlignmentBits / bits(value.dtype);
  std::int64_t stride = 1, length = 1;
  for (int d = value.sizes.rank() - 1; d >= 0; --d) {
    if (d + 1 < value.sizes.rank()) stride *= value.sizes[d + 1];
    if (stride > kThreshold) stride = round_up(stride, align);
    length += (value.sizes[d] - 1) * stride;
  }
  return length;
}

/// torch.tensor(0.0) of masking_utils.py's eager_mask: a number beside another that is none.
std::vector<DType> find_constants(const Graph& graph) {
  std::vector<DType> found;
  const auto is_zeros = [&](ValueId id) { return std::string_view(graph[id].op) == "zeros"; };
  for (ValueId id = 0; id < graph.size(); ++id)
    if (std::string_view(graph[id].op) == "where" && graph[id].reads.size() == 3 &&
        is_zeros(graph[id].reads[1]) && is_zeros(graph[id].reads[2]))
      found.push_back(graph[id].dtype);
  return found;
}

/// The checkpointed call that a module is part of.
int checkpointed_call(ScopeId scope, const TracedPass& pass) {
  const ScopeTree& scopes = ghost::session().tape.scopes;
  for (; scope != 0; scope = scopes.parent(scope))
    if (const auto found = pass.checkpointed.find(scope); found != pass.checkpointed.end())
      return found->second;
  return 0;
}

/// Tags what checkpointed calls compute. What a later call reads is saved, and no more of them
/// (cleanup_recompute_tags of partitioners.py).
void tag_checkpointed(Graph& graph, const TracedPass& pass) {
  if (pass.checkpointed.empty()) return;
  for (ValueId id = 0; id < graph.size(); ++id) {
    if (graph[id].backward || graph[id].kind == Value::Kind::input) continue;
    const int call = graph[id].checkpointed = checkpointed_call(graph[id].scope, pass);
    if (call == 0) continue;
    for (const ValueId read : graph[id].reads) {
      if (graph[read].checkpointed == 0 || graph[read].checkpointed >= call) continue;
      graph[read].checkpointed = 0;
      graph[read].banned = graph[read].kind != Value::Kind::view;
    }
  }
}

/// What the program sees keeps its strides, and what attention's kernels give has theirs.
void pad_strides(ModelGraph& model) {
  Graph& graph = model.graph;
  std::vector<bool> is_seen(graph.size());
  for (const std::optional<ValueId>& gradient : model.gradients)
    if (gradient) is_seen[*gradient] = true;
  for (ValueId id = 0; id < graph.size(); ++id) {
    Value& value = graph[id];
    const bool attends = std::string_view(value.op).find("attention") != std::string_view::npos;
    if (value.kind == Value::Kind::input || value.kind == Value::Kind::view || value.held ||
        is_seen[id] || attends)
      continue;
    const std::int64_t length = padded_length(value);
    if (length > ghost::numel(value.sizes)) value.sizes = {length};
  }
}

}  // namespace

Result<std::shared_ptr<const ModelGraph>> trace_model(const Config& config,
                                                      const TrainRecipe& recipe,
                                                      const ghost::DeviceTraits& device) {
  ghost::Session session(device, recipe.release);
  session.mark(Phase::init, -1, 0);
  std::unique_ptr<family::PretrainedModel> model;
  TracedPass pass;
  if (const Result<void> traced = trace_forward(config, recipe, model, pass); !traced)
    return tl::unexpected(traced.error());
  Lowered lowered = lower_forward(pass);
  ModelGraph compiled = lower(pass, lowered);
  trace_backward(pass);
  measure_scratch(lowered, pass);
  compiled.graph = std::move(lowered.graph);
  tag_checkpointed(compiled.graph, pass);
  compiled.saved = min_cut(compiled.graph);
  compiled.constants = find_constants(compiled.graph);
  pad_strides(compiled);
  session.finished = true;
  return std::make_shared<const ModelGraph>(std::move(compiled));
}

Tensor CompiledModel::loss_of(const family::Batch&) {
  while (constants_.size() < graph_->constants.size())
    constants_.push_back(ghost::empty({}, graph_->constants[constants_.size()], Category::buffer));
  const Graph& values = graph_->graph;
  std::vector<ValueId> outputs = graph_->saved;
  outputs.push_back(graph_->loss);
  for (const std::optional<ValueId>& output : {graph_->logits, graph_->hidden})
    if (output) outputs.push_back(*output);
  Buffers buffers(values.size());
  {
    const ghost::GradMode no_grad(false);
    Execution execution(values, std::move(buffers), outputs);
    buffers = execution.run(schedule(values, {.outputs = outputs, .given = {}}));
  }
  Tensor loss = buffers[graph_->loss];
  const auto node = ghost::make_node<CompiledModelBackward>(graph_);
  for (const Tensor& parameter : parameters())
    node->edges.push_back(ghost::gradient_edge(parameter));
  for (std::size_t i = 0; i < graph_->saved.size(); ++i)
    if (buffers[graph_->saved[i]].defined()) node->saved[i].keep(buffers[graph_->saved[i]]);
  ghost::set_history(loss, node);
  return loss;
}

}  // namespace memtape::torch::inductor
