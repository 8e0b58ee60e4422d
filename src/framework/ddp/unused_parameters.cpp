// SPDX-License-Identifier: Apache-2.0
#include "framework/ddp/unused_parameters.h"

#include <unordered_set>

namespace memtape::ddp {

using ghost::Node;

Places unused_parameters(const std::vector<ghost::Tensor>& outputs,
                         const std::vector<ghost::Ptr<Node>>& accumulators) {
  std::unordered_set<const Node*> met;
  std::vector<const Node*> waiting;
  const auto meet = [&](const Node* node) {
    if (node && met.insert(node).second) waiting.push_back(node);
  };
  for (const ghost::Tensor& output : outputs) meet(output.impl().grad_fn.get());
  while (!waiting.empty()) {
    const Node* const node = waiting.back();
    waiting.pop_back();
    for (std::size_t i = 0; i < node->edges.size(); ++i) meet(node->edges[i].function.get());
  }
  Places unused;
  for (std::size_t place = 0; place < accumulators.size(); ++place)
    if (!met.contains(accumulators[place].get())) unused.push_back(place);
  return unused;
}

}  // namespace memtape::ddp
