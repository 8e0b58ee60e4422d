// SPDX-License-Identifier: Apache-2.0
// StackStory: what a recorded stack says about a block: the line of the program that asked for it,
// the op, and the purpose of the block. The purpose is told by which of torch's functions are on
// the stack (those of an optimizer, of autograd or of a module), so it is an interpretation of the
// stack and not a fact of the allocator. memtape's own snapshots state the category themselves.
#pragma once

#include <string>
#include <vector>

#include "evidence/snapshot.h"
#include "tape/category.h"

namespace memtape {

struct StackStory {
  /// The innermost line outside of torch: "train.py:42 step"; "" if there is none.
  std::string place;
  std::string op;  ///< the innermost of torch's own functions: "aten::mm", "linear", ...
  Category category = Category::unknown;
  std::vector<std::string> frames;  ///< all Python frames, the innermost first

  /// The place, or the op if no line of the program is known.
  const std::string& asker() const { return place.empty() ? op : place; }
};

StackStory story_of(const Stacks& stacks, StackId stack);

}  // namespace memtape
