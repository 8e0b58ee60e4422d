// SPDX-License-Identifier: Apache-2.0
#include "evidence/account.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace memtape {

const StackStory& Stories::of(StackId stack) {
  const auto known = known_.find(stack);
  if (known != known_.end()) return known->second;
  return known_.emplace(stack, story_of(stacks_, stack)).first->second;
}

/// A recording with Python stacks has none where autograd's threads allocate: gradients, and the
/// workspace that cuBLAS gets for each thread and stream (getDefaultWorkspaceSize of
/// ATen/cuda/CublasHandlePool.cpp: 2 x 4 MiB + 8 x 16 KiB, and 32 MiB on Hopper).
Category Stories::category_of(const BlockLife& life) {
  constexpr Bytes kWorkspace = 8519680, kHopperWorkspace = 33554432;
  if (life.category > 0) return static_cast<Category>(life.category - 1);
  if (life.stack != 0) return of(life.stack).category;
  if (stacks_.stacks.size() <= 1 || life.is_older) return Category::unknown;
  return life.requested == kWorkspace || life.requested == kHopperWorkspace ? Category::workspace
                                                                            : Category::gradient;
}

Account account_of(const std::vector<const BlockLife*>& alive, Stories& stories) {
  Account account;
  std::map<std::tuple<StackId, Bytes, Category>, HeldGroup> groups;
  for (const BlockLife* life : alive) {
    const Category category = stories.category_of(*life);
    account.categories[category] += life->size;
    account.rounding += life->size - life->requested;
    HeldGroup& group = groups[{life->stack, life->requested, category}];
    group.category = category;
    group.stack = life->stack;
    group.requested = life->requested;
    group.bytes += life->size;
    ++group.count;
  }
  for (auto& [key, group] : groups) account.groups.push_back(group);
  std::ranges::stable_sort(account.groups, std::ranges::greater(), &HeldGroup::bytes);
  return account;
}

}  // namespace memtape
