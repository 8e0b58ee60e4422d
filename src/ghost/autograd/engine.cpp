// SPDX-License-Identifier: Apache-2.0
#include "ghost/autograd/engine.h"

#include <algorithm>
#include <queue>
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

/// Counts, for every node that can be reached, the edges into it; marks the nodes as part of this
/// pass.
void compute_dependencies(Node* root, std::uint32_t pass) {
  std::vector<Node*> stack{root};
  root->backward = pass;
  root->dependencies = 0;
  while (!stack.empty()) {
    Node* node = stack.back();
    stack.pop_back();
    for (std::size_t i = 0; i < node->edges.size(); ++i) {
      Node* next = node->edges[i].function.get();
      if (!next) continue;
      if (next->backward != pass) {
        next->backward = pass;
        next->dependencies = 0;
        stack.push_back(next);
      }
      ++next->dependencies;
    }
  }
}

/// can_accumulate_inplace of torch/csrc/autograd/input_buffer.cpp: no subclass, dense, and no one
/// else holds tensor or storage.
bool can_accumulate_inplace(const Node& node, const Tensor& held) {
  return !node.wraps_tensors && is_non_overlapping_and_dense(held.sizes(), held.strides()) && held.ptr()->refs == 1 &&
         held.impl().storage && held.impl().storage->refs == 1;
}

/// InputBuffer::add.
void add_to_buffer(Node& node, std::uint32_t input_nr, Tensor& gradient) {
  if (node.buffer.size() < node.metadata.size()) node.buffer.resize(node.metadata.size());
  Tensor& held = node.buffer[input_nr];
  if (!held.defined()) {
    held = std::move(gradient);
    return;
  }
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

Gradients call_function(Node& node) {
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

void evaluate_function(Node& node, ReadyQueue& ready) {
  session().scope = node.scope;
  Gradients gradients = call_function(node);
  node.release();
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const Edge& edge = node.edges[i];
    if (!edge.function) continue;
    Node& next = *edge.function;
    if (gradients[i].defined()) add_to_buffer(next, edge.input_nr, gradients[i]);
    if (--next.dependencies == 0) ready.push(edge.function);
  }
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
  Session& s = session();
  const ScopeId scope = s.scope;
  const char* const outer_node = s.node;
  const bool outer_pass = s.in_backward;
  std::vector<std::function<void()>> callbacks;
  auto* const outer_callbacks = std::exchange(s.final_callbacks, &callbacks);
  GradMode no_grad(false);
  s.in_backward = true;
  const Ptr<Node> root = output.impl().grad_fn;
  compute_dependencies(root.get(), ++s.next_backward);
  ReadyQueue ready;
  Tensor seed = gradient;  // the caller's list of gradients holds it too
  add_to_buffer(*root, output.impl().output_nr, seed);
  ready.push(root);
  while (!ready.empty()) {
    const Ptr<Node> node = ready.top();
    ready.pop();
    if (node->sequence < s.layer_boundary) s.equal_layers->reach_backwards(*node);
    evaluate_function(*node, ready);
  }
  for (std::size_t i = 0; i < callbacks.size(); ++i) callbacks[i]();  // they may queue more
  s.final_callbacks = outer_callbacks;
  s.in_backward = outer_pass;
  s.scope = scope;
  s.node = outer_node;
}

}  // namespace memtape::ghost
