// SPDX-License-Identifier: Apache-2.0
#include "framework/torch_pp/partial_backward.h"

#include <deque>
#include <unordered_map>
#include <unordered_set>

#include "ghost/autograd/engine.h"

namespace memtape::torch_pp {
namespace {

using ghost::Edge;
using ghost::Node;
using NodeSet = std::unordered_set<Node*>;
using ReverseEdges = std::unordered_map<Node*, std::vector<Node*>>;

ReverseEdges construct_reverse_graph(Node* root) {
  ReverseEdges reverse;
  std::deque<Node*> queue{root};
  while (!queue.empty()) {
    Node* const node = queue.front();
    queue.pop_front();
    for (std::size_t i = 0; i < node->edges.size(); ++i) {
      Node* const next = node->edges[i].function.get();
      if (!next) continue;
      std::vector<Node*>& users = reverse[next];
      if (users.empty()) queue.push_back(next);
      users.push_back(node);
    }
  }
  return reverse;
}

/// reverse_closure: what uses `root`, directly or not, up to `targets`; gives those that were met.
std::vector<Node*> reverse_closure(Node* root, const NodeSet& targets, const ReverseEdges& reverse,
                                   NodeSet& closure) {
  std::vector<Node*> met;
  NodeSet seen_targets;
  std::deque<Node*> queue{root};
  closure.insert(root);
  while (!queue.empty()) {
    const auto users = reverse.find(queue.front());
    queue.pop_front();
    if (users == reverse.end()) continue;
    for (Node* user : users->second) {
      if (closure.contains(user)) continue;
      if (targets.contains(user)) {
        if (seen_targets.insert(user).second) met.push_back(user);
        continue;
      }
      closure.insert(user);
      queue.push_back(user);
    }
  }
  return met;
}

std::vector<ParamGroup> get_param_groups(const Tensor& input, const std::vector<Tensor>& weights,
                                         const ReverseEdges& reverse) {
  NodeSet inputs_closure;
  const Edge input_edge = ghost::gradient_edge(input);
  reverse_closure(input_edge.function.get(), {}, reverse, inputs_closure);
  std::vector<ParamGroup> groups;
  std::unordered_map<Node*, std::size_t> group_of;
  for (const Tensor& weight : weights) {
    const Edge edge = ghost::gradient_edge(weight);
    if (!edge.function) continue;
    NodeSet closure;
    const std::vector<Node*> met =
        reverse_closure(edge.function.get(), inputs_closure, reverse, closure);
    if (met.empty()) continue;
    const auto known = group_of.find(met.front());
    const std::size_t at = known == group_of.end() ? groups.size() : known->second;
    if (at == groups.size()) groups.emplace_back();
    groups[at].params.push_back(weight);
    for (Node* node : met)
      if (group_of.emplace(node, at).second)
        groups[at].intermediates.push_back(ghost::Ptr<Node>(node));
  }
  for (ParamGroup& group : groups) group.grads.resize(group.intermediates.size());
  return groups;
}

/// Prehooks that keep what arrives at the intermediates, while they live.
class Hooks {
 public:
  explicit Hooks(std::vector<ParamGroup>& groups) : groups_(groups) {
    for (ParamGroup& group : groups_)
      for (std::size_t i = 0; i < group.intermediates.size(); ++i)
        group.intermediates[i]->add_hooks().before.push_back(
            [&into = group.grads[i]](ghost::Gradients& in) {
              into.clear();
              for (std::size_t k = 0; k < in.size(); ++k) into.push_back(in[k]);
            });
  }
  ~Hooks() {
    for (ParamGroup& group : groups_)
      for (const ghost::Ptr<Node>& node : group.intermediates) node->hooks->before.pop_back();
  }
  Hooks(const Hooks&) = delete;
  Hooks& operator=(const Hooks&) = delete;

 private:
  std::vector<ParamGroup>& groups_;
};

/// Python's sum(): begins with the number 0, so even one gradient is copied.
Tensor sum_of(const std::vector<Tensor>& grads) {
  Tensor sum;
  for (const Tensor& grad : grads) {
    if (!grad.defined()) continue;
    sum = sum.defined() ? sum.add(grad) : grad.add(0.0);
  }
  return sum;
}

void accumulate(const Tensor& weight, const Tensor& dw) {
  ghost::session().set_category(dw, Category::gradient);
  if (!weight.impl().grad) weight.impl().grad = dw.ptr();  // else in place
}

}  // namespace

void detach_in_place(const Tensor& tensor) {
  tensor.impl().grad_fn.reset();
  tensor.impl().requires_grad = false;
  tensor.impl().output_nr = 0;
}

Tensor stage_backward(const Tensor& output_or_loss, const Tensor& output_grad,
                      const Tensor& input) {
  if (output_grad.defined())
    ghost::backward(output_or_loss, output_grad);
  else
    ghost::backward(output_or_loss);
  Tensor dinput = input.grad();
  input.impl().grad.reset();
  return dinput;
}

InputBackward stage_backward_input(const Tensor& output_or_loss, const Tensor& output_grad,
                                   const Tensor& input, const std::vector<Tensor>& weights) {
  InputBackward result;
  const Edge output = ghost::gradient_edge(output_or_loss);
  if (!output.function) return result;
  result.param_groups =
      get_param_groups(input, weights, construct_reverse_graph(output.function.get()));
  const Edge input_edge = ghost::gradient_edge(input);
  Tensor gradient = output_grad;
  if (!gradient.defined()) {
    const ghost::Op op("ones_like", {});
    gradient = ghost::empty(output_or_loss.sizes(), output_or_loss.dtype());
  }
  {
    const Hooks hooks(result.param_groups);
    result.dinput = std::move(
        ghost::grad({&output, 1}, {&gradient, 1}, {&input_edge, 1}, ghost::GraphAfter::kept)
            .front());
  }
  if (result.dinput.defined()) input.impl().grad = result.dinput.ptr();
  detach_in_place(output_or_loss);
  return result;
}

/// The locals of the loop over groups live on into its next round, as Python's do.
void stage_backward_weight(std::vector<ParamGroup>& param_groups) {
  std::vector<Edge> valid_edges;
  std::vector<Tensor> valid_grad_outputs, grads, dweights;
  ghost::Ptr<Node> intermediate;
  Tensor summed_grad, dw;
  for (ParamGroup& group : param_groups) {
    valid_edges.clear();
    valid_grad_outputs.clear();
    for (std::size_t i = 0; i < group.intermediates.size(); ++i) {
      grads = group.grads[i];
      intermediate = group.intermediates[i];
      Tensor sum = sum_of(grads);
      if (!sum.defined()) continue;
      summed_grad = std::move(sum);
      valid_edges.push_back({intermediate, 0});
      valid_grad_outputs.push_back(summed_grad);
    }
    group.intermediates.clear();
    if (valid_edges.empty()) continue;
    std::vector<Edge> weights;
    for (const Tensor& param : group.params) weights.push_back(ghost::gradient_edge(param));
    dweights = ghost::grad(valid_edges, valid_grad_outputs, weights, ghost::GraphAfter::freed);
    group.grads.clear();
    for (std::size_t i = 0; i < group.params.size(); ++i) {
      dw = dweights[i];
      if (dw.defined()) accumulate(group.params[i], dw);
    }
  }
}

}  // namespace memtape::torch_pp
