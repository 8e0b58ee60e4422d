// SPDX-License-Identifier: Apache-2.0
// Reasons: why each block of a tape exists. Most blocks of a large model repeat those of another
// layer, micro-batch or step: they share one reason and have a scope of their own, so a repeated
// block costs eight bytes and not fifty.
//
// Invariant: a shared reason never changes. A block whose reason is changed gets one of its own.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/dtype.h"
#include "tape/category.h"

namespace memtape {

using BlockId = std::uint32_t;
using ScopeId = std::uint32_t;  ///< a place in the module tree; 0 is the root

/// Sizes of a tensor as people write them; at most five dimensions are kept for display.
struct DisplayShape {
  static constexpr std::size_t kMaxRank = 5;
  std::array<std::uint32_t, kMaxRank> dims{};
  std::uint8_t rank = 0;
};

/// Why a block exists. `op` and `node` are string literals: the aten op ("mm") and the autograd
/// node ("MmBackward0", or "").
struct Why {
  const char* op = "";
  const char* node = "";
  ScopeId scope = 0;
  Category category = Category::unknown;
  Phase phase = Phase::init;
  DType dtype = DType::uint8;
  Role role = Role::none;
  DisplayShape shape;
};

/// Makes room for `more` entries at once. Who asks again and again does not move them each time.
template <typename T>
void make_room(std::vector<T>& entries, std::size_t more) {
  const std::size_t needed = entries.size() + more;
  if (needed > entries.capacity()) entries.reserve(std::max(needed, entries.capacity() * 3 / 2));
}

class Reasons {
 public:
  /// A reason without its scope, which further blocks may share.
  enum class Id : std::uint32_t {};

  std::size_t size() const { return blocks_.size(); }
  Why operator[](BlockId block) const {
    const Block& b = blocks_[block];
    const Reason& r = reason(b);
    return {r.op, r.node, b.scope, r.category, r.phase, r.dtype, r.role, r.shape};
  }
  Category category(BlockId block) const { return reason(blocks_[block]).category; }

  /// The next block, with a reason of its own.
  void add(const Why& why) {
    blocks_.push_back({why.scope, next()});
    reasons_.push_back(without_scope(why));
  }
  /// The next block, with a reason that another has already.
  void add(Id shared, ScopeId scope) { blocks_.push_back({scope, shared}); }

  /// The reason of `block`, to be shared with others from now on.
  Id share(BlockId block) {
    const Id id = blocks_[block].reason;
    reasons_[static_cast<std::uint32_t>(id)].is_shared = true;
    return id;
  }

  /// Gives `block` another reason; those that share its present one keep that.
  void set(BlockId block, const Why& why) {
    Block& b = blocks_[block];
    b.scope = why.scope;
    if (!reason(b).is_shared) {
      reasons_[static_cast<std::uint32_t>(b.reason)] = without_scope(why);
    } else {
      b.reason = next();
      reasons_.push_back(without_scope(why));
    }
  }
  void set_category(BlockId block, Category category) {
    if (this->category(block) == category) return;
    Why why = (*this)[block];
    why.category = category;
    set(block, why);
  }

  /// Makes room for `more` blocks that share the reasons of others.
  void make_room(std::size_t more) { memtape::make_room(blocks_, more); }

 private:
  struct Block {
    ScopeId scope;
    Id reason;
  };
  struct Reason {
    const char* op;
    const char* node;
    Category category;
    Phase phase;
    DType dtype;
    Role role;
    bool is_shared;
    DisplayShape shape;
  };

  Id next() const { return static_cast<Id>(reasons_.size()); }
  const Reason& reason(const Block& block) const {
    return reasons_[static_cast<std::uint32_t>(block.reason)];
  }
  static Reason without_scope(const Why& why) {
    return {why.op, why.node, why.category, why.phase, why.dtype, why.role, false, why.shape};
  }

  std::vector<Block> blocks_;  ///< by BlockId
  std::vector<Reason> reasons_;
};

}  // namespace memtape
