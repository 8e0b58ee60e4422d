// SPDX-License-Identifier: Apache-2.0
// Trace: the ops that a program runs on ghost tensors, each with the blocks that it reads and
// makes, as torch.compile sees a model. Views make no block: they are their base's block. While a
// trace lives, Op and Session report to it.
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
  /// The trace in force; null if there is none.
  static Trace* current() { return given_here<Trace>(); }

  void begin(const char* op);
  void end() { open_.pop_back(); }
  /// Notes what the running op reads.
  void read(const Tensor& tensor);
  void made(BlockId block);
  /// Forgets what was noted as read so far.
  void forget_reads();

  std::vector<TracedOp> ops;  ///< in the order in which they began

 private:
  std::vector<std::size_t> open_;  ///< ops at work, the innermost last
  Given<Trace> given_{this};
};

/// Notes what the running op reads besides its operands.
void traced_reads(std::initializer_list<const Tensor*> operands);
/// Notes what it reads instead of its operands, which autocast has cast.
void traced_casts(std::initializer_list<const Tensor*> operands);

}  // namespace memtape::ghost
