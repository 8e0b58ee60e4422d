// SPDX-License-Identifier: Apache-2.0
// Histories: what the graph behind a tensor leads to and holds, beside the tensors that its nodes
// saved: leaves with their gradients, and what nodes keep until they go themselves (ctx.rng_states
// of a Python function).
#pragma once

#include <map>
#include <span>
#include <vector>

#include "ghost/autograd/node.h"

namespace memtape::ghost {

/// Whether the history of `tensor` goes back to `input`, which it then holds, its gradient
/// included.
bool reaches(const Tensor& tensor, const Tensor& input);

/// Leaves that the history of `tensor` leads back to and that nothing else holds.
std::vector<const TensorImpl*> leaves_in_graph(const Tensor& tensor);

/// A node that keeps tensors of its own.
class KeepsOwn {
 public:
  virtual ~KeepsOwn() = default;
  virtual std::span<const Tensor> own() const = 0;
};

/// The graph that the histories of some tensors lead to, as it stands.
class OwnOfNodes {
 public:
  explicit OwnOfNodes(std::span<const Tensor> roots);
  /// The memory that the history of a root holds, in the order in which a chain of nodes goes: that
  /// of the last node first.
  std::vector<const Storage*> held_by(const Tensor& root) const;

 private:
  std::vector<const Node*> keepers_;                 ///< in the order in which they were made
  std::map<const Node*, std::vector<bool>> led_to_;  ///< of each node, the keepers
};

}  // namespace memtape::ghost
