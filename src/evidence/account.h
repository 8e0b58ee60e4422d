// SPDX-License-Identifier: Apache-2.0
// Account: the blocks of one moment, by their purpose and by the line that asked for them.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "evidence/held.h"
#include "evidence/stack_story.h"

namespace memtape {

/// The stories of stacks; each stack is read once.
class Stories {
 public:
  explicit Stories(const Stacks& stacks) : stacks_(stacks) {}
  const StackStory& of(StackId stack);
  Category category_of(const BlockLife& life);

 private:
  const Stacks& stacks_;
  std::unordered_map<StackId, StackStory> known_;
};

/// The blocks of one size that one stack asked for.
struct HeldGroup {
  Category category = Category::unknown;
  StackId stack = 0;
  Bytes requested = 0;  ///< of each block
  Bytes bytes = 0;      ///< the sum over all blocks
  std::int64_t count = 0;
};

struct Account {
  CategoryBytes categories;       ///< bytes of blocks; their sum is what is allocated
  std::vector<HeldGroup> groups;  ///< the largest first
  Bytes rounding = 0;             ///< by how much the blocks are larger than their requests
};

Account account_of(const std::vector<const BlockLife*>& alive, Stories& stories);

}  // namespace memtape
