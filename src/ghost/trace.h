// SPDX-License-Identifier: Apache-2.0
// Trace: the ops that a program runs on ghost tensors, each with the blocks it reads and makes:
// what torch.compile sees of a model. Views make nothing, they are their base's block. While a
// trace lives, Op and Session tell it.
#pragma once

#include <initializer_list>
#include <vector>

#include "ghost/given.h"
#include "ghost/tensor.h"

namespace memtape::ghost {

/// A block as an op sees it: views of it have sizes and strides of their own.
struct TracedRead {
  BlockId block;
  Dims sizes, strides;
  bool operator==(const TracedRead&) const = default;
};

struct TracedOp {
  const char* name = "";
  std::vector<TracedRead> reads;
  std::vector<BlockId> makes;
};

class Trace {
 public:
  static constexpr Slot kSlot = Slot::trace;
  /// The one in force; null where nobody listens.
  static Trace* current() { return given_here<Trace>(); }

  void begin(const char* op);
  void end() { open_.pop_back(); }
  /// What an op at work reads.
  void read(const Tensor& tensor);
  void made(BlockId block);
  /// It reads nothing of what was said so far.
  void forget_reads();

  std::vector<TracedOp> ops;  ///< in the order in which they began

 private:
  std::vector<std::size_t> open_;  ///< ops at work, the innermost last
  Given<Trace> given_{this};
};

/// What the op at work reads beside the operands it was told of.
void traced_reads(std::initializer_list<const Tensor*> operands);
/// What it reads in their place: autocast has cast them.
void traced_casts(std::initializer_list<const Tensor*> operands);

}  // namespace memtape::ghost
