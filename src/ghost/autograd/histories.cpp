// SPDX-License-Identifier: Apache-2.0
#include "ghost/autograd/histories.h"

#include <algorithm>
#include <unordered_set>

#include "ghost/autograd/accumulate_grad.h"

namespace memtape::ghost {
namespace {

const Node* history_of(const Tensor& tensor) {
  return tensor.defined() ? tensor.impl().grad_fn.get() : nullptr;
}

/// The nodes, in the order in which they were made. Leaves are left out.
std::vector<const Node*> nodes_behind(std::span<const Tensor> roots) {
  std::vector<const Node*> found;
  std::unordered_set<const Node*> seen;
  const auto find = [&](const Node* node) {
    if (node && node->edges.size() > 0 && seen.insert(node).second) found.push_back(node);
  };
  for (const Tensor& root : roots) find(history_of(root));
  for (std::size_t at = 0; at < found.size(); ++at)
    for (std::size_t i = 0; i < found[at]->edges.size(); ++i)
      find(found[at]->edges[i].function.get());
  std::ranges::sort(found, {}, &Node::sequence);
  return found;
}

}  // namespace

bool reaches(const Tensor& tensor, const Tensor& input) {
  if (!tensor.defined() || !input.defined() || !tensor.impl().grad_fn) return false;
  const Node* const sought = gradient_edge(input).function.get();
  std::vector<const Node*> found{tensor.impl().grad_fn.get()};
  std::unordered_set<const Node*> seen{found.front()};
  while (!found.empty()) {
    const Node* const node = found.back();
    found.pop_back();
    for (std::size_t i = 0; i < node->edges.size(); ++i) {
      const Node* const next = node->edges[i].function.get();
      if (next == sought) return true;
      const bool is_leaf = !next || next->edges.size() == 0;
      if (!is_leaf && seen.insert(next).second) found.push_back(next);
    }
  }
  return false;
}

std::vector<const TensorImpl*> leaves_in_graph(const Tensor& tensor) {
  std::vector<const TensorImpl*> leaves;
  if (!tensor.defined() || !tensor.impl().grad_fn) return leaves;
  std::vector<const Node*> found{tensor.impl().grad_fn.get()};
  std::unordered_set<const Node*> seen{found.front()};
  while (!found.empty()) {
    const Node* const node = found.back();
    found.pop_back();
    const auto* const leaf = dynamic_cast<const AccumulateGrad*>(node);
    if (leaf && leaf->variable.ptr()->refs == 1) leaves.push_back(&leaf->variable.impl());
    for (std::size_t i = 0; i < node->edges.size(); ++i)
      if (const Node* const next = node->edges[i].function.get(); next && seen.insert(next).second)
        found.push_back(next);
  }
  return leaves;
}

OwnOfNodes::OwnOfNodes(std::span<const Tensor> roots) {
  const std::vector<const Node*> nodes = nodes_behind(roots);
  for (const Node* node : nodes)
    if (dynamic_cast<const KeepsOwn*>(node)) keepers_.push_back(node);
  if (keepers_.empty()) return;
  for (const Node* node : nodes) {
    std::vector<bool>& led_to = led_to_[node];
    led_to.resize(keepers_.size());
    if (const auto at = std::ranges::find(keepers_, node); at != keepers_.end())
      led_to[static_cast<std::size_t>(at - keepers_.begin())] = true;
    for (std::size_t i = 0; i < node->edges.size(); ++i) {
      const auto before = led_to_.find(node->edges[i].function.get());
      if (before == led_to_.end() || before->first == node) continue;
      for (std::size_t k = 0; k < keepers_.size(); ++k)
        if (before->second[k]) led_to[k] = true;
    }
  }
}

std::vector<const Storage*> OwnOfNodes::held_by(const Tensor& root) const {
  std::vector<const Storage*> held;
  const auto found = led_to_.find(history_of(root));
  if (found == led_to_.end()) return held;
  for (std::size_t k = keepers_.size(); k-- > 0;) {
    if (!found->second[k]) continue;
    for (const Tensor& own : dynamic_cast<const KeepsOwn&>(*keepers_[k]).own())
      if (own.defined() && own.impl().storage) held.push_back(own.impl().storage.get());
  }
  return held;
}

}  // namespace memtape::ghost
