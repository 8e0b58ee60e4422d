// SPDX-License-Identifier: Apache-2.0
// Account: the blocks of one moment by what they are for and by the line that asked for them.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "evidence/held.h"
#include "evidence/stack_story.h"

namespace memtape {

/// Stories by stack, each read once.
class Stories {
 public:
  explicit Stories(const Stacks& stacks) : stacks_(stacks) {}
  const StackStory& of(StackId stack);
  Category category_of(const BlockLife& life);

 private:
  const Stacks& stacks_;
  std::unordered_map<StackId, StackStory> known_;
};

/// Blocks of one size from one stack.
struct HeldGroup {
  Category category = Category::unknown;
  StackId stack = 0;
  Bytes requested = 0;  ///< of each
  Bytes bytes = 0;      ///< blocks of all together
  std::int64_t count = 0;
};

struct Account {
  CategoryBytes categories;       ///< blocks; their sum is what is allocated
  std::vector<HeldGroup> groups;  ///< largest first
  Bytes rounding = 0;             ///< blocks beyond their requests
};

Account account_of(const std::vector<const BlockLife*>& alive, Stories& stories);

}  // namespace memtape
