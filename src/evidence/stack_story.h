// SPDX-License-Identifier: Apache-2.0
// StackStory: what a recorded stack says about a block: the line of the program that asked for it,
// the op, and what the block is for. The last is told from which of torch's functions stand in the
// stack (an optimizer's, autograd's, a module's), so it is a reading of the stack, not a fact of
// the allocator; memtape's own snapshots say the category themselves.
#pragma once

#include <string>
#include <vector>

#include "evidence/snapshot.h"
#include "tape/category.h"

namespace memtape {

struct StackStory {
  std::string place;  ///< "train.py:42 step": the innermost line outside torch; "" when none
  std::string op;     ///< "aten::mm", "linear", ...: the innermost of torch's own
  Category category = Category::unknown;
  std::vector<std::string> frames;  ///< all Python frames, innermost first

  /// The place, or the op where no line of the program is known.
  const std::string& asker() const { return place.empty() ? op : place; }
};

StackStory story_of(const Stacks& stacks, StackId stack);

}  // namespace memtape
