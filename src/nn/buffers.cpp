// SPDX-License-Identifier: Apache-2.0
#include "nn/buffers.h"

namespace memtape::nn {
namespace {

void collect_buffers(const ModuleNode& node, std::vector<Tensor>& found) {
  for (const ModuleNode::Named& buffer : node.buffers) found.push_back(buffer.tensor);
  for (const ModuleNode* child : node.children) collect_buffers(*child, found);
}

}  // namespace

std::vector<Tensor> buffers(const ModuleNode& root) {
  std::vector<Tensor> found;
  collect_buffers(root, found);
  return found;
}

}  // namespace memtape::nn
