// SPDX-License-Identifier: Apache-2.0
#include "evidence/flame.h"

#include <algorithm>

namespace memtape {
namespace {

FlameNode& child_of(FlameNode& node, const std::string& frame) {
  const auto found = std::ranges::find(node.children, frame, &FlameNode::frame);
  if (found != node.children.end()) return *found;
  return node.children.emplace_back(FlameNode{frame, 0, {}});
}

void tidy(FlameNode& node, Bytes least) {
  std::erase_if(node.children, [least](const FlameNode& child) { return child.bytes < least; });
  std::ranges::stable_sort(node.children, std::ranges::greater(), &FlameNode::bytes);
  for (FlameNode& child : node.children) tidy(child, least);
}

}  // namespace

FlameNode flame_of(const Account& account, Stories& stories, Bytes least) {
  FlameNode root{"all", 0, {}};
  for (const HeldGroup& group : account.groups) {
    const std::vector<std::string>& frames = stories.of(group.stack).frames;
    FlameNode* at = &root;
    at->bytes += group.bytes;
    for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
      at = &child_of(*at, *frame);
      at->bytes += group.bytes;
    }
    if (frames.empty()) child_of(root, "without a Python stack").bytes += group.bytes;
  }
  tidy(root, least);
  return root;
}

}  // namespace memtape
