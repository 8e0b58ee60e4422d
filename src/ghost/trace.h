// SPDX-License-Identifier: Apache-2.0
// Trace: the ops that a program runs on ghost tensors, each with the blocks it reads and makes:
// what torch.compile sees of a model. Views make nothing, they are their base's block. While a
// trace is in force, Op and Session tell it.
#pragma once

#include <initializer_list>
#include <vector>

#include "ghost/tensor.h"

namespace memtape::ghost {

struct TracedOp {
  const char* name = "";
  std::vector<BlockId> reads, makes;
};

class Trace {
 public:
  Trace();
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  /// The one in force; null where nobody listens.
  static Trace* current();

  void begin(const char* op);
  void end() { open_.pop_back(); }
  /// What an op at work reads.
  void read(const Tensor& tensor);
  void made(BlockId block);

  std::vector<TracedOp> ops;  ///< in the order in which they began

 private:
  Trace* outer_;
  std::vector<std::size_t> open_;  ///< ops at work, the innermost last
};

/// What the op at work reads beside the operands it was told of.
void traced_reads(std::initializer_list<const Tensor*> operands);

}  // namespace memtape::ghost
