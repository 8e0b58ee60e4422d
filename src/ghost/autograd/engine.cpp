// SPDX-License-Identifier: Apache-2.0
#include "ghost/autograd/engine.h"

#include <algorithm>
#include <queue>
#include <span>
#include <utility>
#include <vector>

#include "ghost/autograd/equal_layers.h"
#include "ghost/ops/copies.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"

namespace memtape::ghost {
namespace {

struct Later {
  bool operator()(const Ptr<Node>& a, const Ptr<Node>& b) const {
    return a->sequence < b->sequence;
  }
};
using ReadyQueue = std::priority_queue<Ptr<Node>, std::vector<Ptr<Node>>, Later>;

/// One run of the engine (torch::autograd::GraphTask).
struct GraphTask {
  std::uint32_t pass = 0;
  bool keep_graph = false;
  std::span<const Edge> inputs;  ///< of autograd.grad; none: gradients go to all leaves
  std::vector<Tensor> captured;  ///< the gradients at `inputs`

  bool is_selective() const { return !inputs.empty(); }
};

/// Counts, for every node that can be reached, the edges into it; marks the nodes as part of this
/// pass. A selective one gets a list of them.
std::vector<Node*> compute_dependencies(const GraphTask& task, std::span<const Edge> roots) {
  std::vector<Node*> stack, reached;
  const auto reach = [&](Node* node) {
    if (node->backward == task.pass) return;
    node->backward = task.pass;
    node->dependencies = 0;
    stack.push_back(node);
    if (task.is_selective()) reached.push_back(node);
  };
  for (const Edge& root : roots) reach(root.function.get());
  while (!stack.empty()) {
    Node* node = stack.back();
    stack.pop_back();
    for (std::size_t i = 0; i < node->edges.size(); ++i) {
      Node* next = node->edges[i].function.get();
      if (!next) continue;
      reach(next);
      ++next->dependencies;
    }
  }
  return reached;
}

bool leads_to_wanted(const Node& node, std::uint32_t pass) {
  for (std::size_t i = 0; i < node.edges.size(); ++i)
    if (const Node* next = node.edges[i].function.get(); next && next->wanted_by == pass)
      return true;
  return false;
}

/// GraphTask::init_to_execute: what autograd.grad has to run are the nodes on the way to its
/// inputs. Edges lead to nodes made earlier, or to leaves, so one walk in order of age finds them.
void find_wanted(const GraphTask& task, std::vector<Node*> reached) {
  std::sort(reached.begin(), reached.end(),
            [](const Node* a, const Node* b) { return a->sequence < b->sequence; });
  for (const Edge& input : task.inputs) input.function->wanted_by = task.pass;
  for (Node* node : reached)
    if (leads_to_wanted(*node, task.pass)) node->wanted_by = task.pass;
}

/// can_accumulate_inplace of torch/csrc/autograd/input_buffer.cpp: no subclass, dense, and no one
/// else holds tensor or storage.
bool can_accumulate_inplace(const Node& node, const Tensor& held) {
  return !node.wraps_tensors && is_non_overlapping_and_dense(held.sizes(), held.strides()) &&
         held.ptr()->refs == 1 && held.impl().storage && held.impl().storage->refs == 1;
}

/// InputBuffer::add: a gradient from another stream is also used on the node's own, where gradients
/// that meet are added.
void add_to_buffer(Node& node, std::uint32_t input_nr, Tensor& gradient) {
  if (node.stream != session().stream) session().record_stream(gradient, node.stream);
  if (node.buffer.size() < node.metadata.size()) node.buffer.resize(node.metadata.size());
  Tensor& held = node.buffer[input_nr];
  if (!held.defined()) {
    held = std::move(gradient);
    return;
  }
  const StreamGuard on_its_stream(node.stream);
  session().node = "InputBuffer";
  session().scope = node.scope;
  if (!session().grad_enabled && can_accumulate_inplace(node, held)) return;  // held.add_(gradient)
  held = held.add(gradient);
}

/// validate_outputs: a gradient is summed down to its tensor's sizes and cast to its dtype.
void validate_outputs(const Node& node, Gradients& gradients) {
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const Edge& edge = node.edges[i];
    if (!edge.function || !gradients[i].defined()) continue;
    const InputMetadata& want = edge.function->metadata[edge.input_nr];
    if (!(gradients[i].sizes() == want.sizes)) gradients[i] = sum_to(gradients[i], want.sizes);
    if (gradients[i].dtype() != want.dtype) gradients[i] = gradients[i].to(want.dtype);
  }
}

bool any_defined(const Gradients& gradients) {
  for (std::size_t i = 0; i < gradients.size(); ++i)
    if (gradients[i].defined()) return true;
  return false;
}

/// What hooks unpacked for a node are locals of its function (generated Functions.cpp: `auto self =
/// self_.unpack();`).
void forget_unpacked(std::size_t down_to) {
  std::vector<const Saved*>& unpacked = session().unpacked;
  for (; unpacked.size() > down_to; unpacked.pop_back()) unpacked.back()->forget_unpacked();
}

/// The nodes behind were made long ago: they come into the cache while this one runs.
void fetch_nodes_behind(const Node& node) {
  for (std::size_t i = 0; i < node.edges.size(); ++i)
    if (const Node* const next = node.edges[i].function.get()) {
      __builtin_prefetch(&next->metadata);
      __builtin_prefetch(&next->dependencies);
    }
}

Gradients call_function(Node& node) {
  fetch_nodes_behind(node);
  Gradients in = std::move(node.buffer);
  node.buffer = {};
  in.resize(node.metadata.size());
  Gradients out;
  out.resize(node.edges.size());
  session().node = node.name;
  const std::size_t unpacked_before = session().unpacked.size();
  if (node.hooks)
    for (const auto& hook : node.hooks->before) hook(in);
  Gradients kept;
  if (node.has_post_hooks()) kept = in;
  if (any_defined(in)) node.apply(in, out);
  forget_unpacked(unpacked_before);
  session().node = "";
  validate_outputs(node, out);
  if (node.has_post_hooks())
    for (const auto& hook : node.hooks->after) hook();
  return out;
}

/// Hands out the gradients that autograd.grad was asked for; false: nothing beyond is wanted.
bool capture(Node& node, GraphTask& task) {
  for (std::size_t i = 0; i < task.inputs.size(); ++i)
    if (task.inputs[i].function.get() == &node && task.inputs[i].input_nr < node.buffer.size())
      task.captured[i] = node.buffer[task.inputs[i].input_nr];
  const bool goes_on = leads_to_wanted(node, task.pass);
  if (!goes_on) node.buffer = {};
  return goes_on;
}

void evaluate_function(Node& node, GraphTask& task, ReadyQueue& ready) {
  session().scope = node.scope;
  const StreamGuard on_its_stream(node.stream);
  if (task.is_selective() && !capture(node, task)) return;
  Gradients gradients = call_function(node);
  if (!task.keep_graph) node.release();
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const Edge& edge = node.edges[i];
    if (!edge.function) continue;
    Node& next = *edge.function;
    if (task.is_selective() && next.wanted_by != task.pass) continue;
    if (gradients[i].defined()) add_to_buffer(next, edge.input_nr, gradients[i]);
    if (--next.dependencies == 0) ready.push(edge.function);
  }
}

/// Engine::execute from `roots`, which get `gradients`.
void execute(GraphTask& task, std::span<const Edge> roots, std::span<const Tensor> gradients) {
  Session& s = session();
  task.pass = ++s.next_backward;
  task.captured.resize(task.inputs.size());
  std::vector<Node*> reached = compute_dependencies(task, roots);
  if (task.is_selective()) find_wanted(task, std::move(reached));
  const auto outer_pass =
      std::exchange(s.selective_pass, task.is_selective() ? task.pass : std::uint32_t{0});
  for (const Edge& root : roots) ++root.function->dependencies;  // those of the graph's root
  ReadyQueue ready;
  for (std::size_t i = 0; i < roots.size(); ++i) {
    Tensor seed = gradients[i];  // the caller's list of gradients holds it too
    add_to_buffer(*roots[i].function, roots[i].input_nr, seed);
    if (--roots[i].function->dependencies == 0) ready.push(roots[i].function);
  }
  while (!ready.empty() && !s.error) {  // after a failure nothing is saved that could be unpacked
    const Ptr<Node> node = ready.top();
    ready.pop();
    if (node->sequence < s.layer_boundary) s.equal_layers->reach_backwards(*node);
    evaluate_function(*node, task, ready);
  }
  s.selective_pass = outer_pass;
}

/// What a pass changes in the session while it runs: gradient mode, place, callbacks.
void run_pass(GraphTask& task, std::span<const Edge> roots, std::span<const Tensor> gradients) {
  Session& s = session();
  const ScopeId scope = s.scope;
  const char* const outer_node = s.node;
  const bool outer_pass = s.in_backward;
  std::vector<std::function<void()>> callbacks;
  auto* const outer_callbacks = std::exchange(s.final_callbacks, &callbacks);
  GradMode no_grad(false);
  s.in_backward = true;
  execute(task, roots, gradients);
  for (std::size_t i = 0; i < callbacks.size(); ++i) callbacks[i]();  // they may queue more
  s.final_callbacks = outer_callbacks;
  s.in_backward = outer_pass;
  s.scope = scope;
  s.node = outer_node;
}

}  // namespace

void backward(const Tensor& loss) {
  if (session().skipping || !loss.impl().grad_fn) return;
  Tensor ones;
  {
    Op op("ones_like", {});
    ones = empty(loss.sizes(), loss.dtype());
  }
  backward(loss, ones);
}

void backward(const Tensor& output, const Tensor& gradient) {
  backward({&output, 1}, {&gradient, 1});
}

void backward(std::span<const Tensor> outputs, std::span<const Tensor> gradients) {
  GraphTask task;
  std::vector<Edge> roots;
  for (const Tensor& output : outputs) roots.push_back(gradient_edge(output));
  run_pass(task, roots, gradients);
}

std::vector<Tensor> grad(std::span<const Edge> outputs, std::span<const Tensor> gradients,
                         std::span<const Edge> inputs, GraphAfter after) {
  if (session().skipping) return std::vector<Tensor>(inputs.size());
  GraphTask task;
  task.keep_graph = after == GraphAfter::kept;
  task.inputs = inputs;
  run_pass(task, outputs, gradients);
  return std::move(task.captured);
}

}  // namespace memtape::ghost
