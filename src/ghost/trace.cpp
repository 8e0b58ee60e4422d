// SPDX-License-Identifier: Apache-2.0
#include "ghost/trace.h"

#include <algorithm>

namespace memtape::ghost {

void Trace::begin(const char* op) {
  open_.push_back(ops.size());
  ops.push_back({op, {}, {}});
}

void Trace::read(const Tensor& tensor) {
  if (open_.empty() || !tensor.defined() || !tensor.impl().storage) return;
  std::vector<TracedRead>& reads = ops[open_.back()].reads;
  const TracedRead read{tensor.impl().storage->block, tensor.sizes(), tensor.strides()};
  if (std::find(reads.begin(), reads.end(), read) == reads.end()) reads.push_back(read);
}

void Trace::made(BlockId block) {
  if (!open_.empty()) ops[open_.back()].makes.push_back(block);
}

void traced_reads(std::initializer_list<const Tensor*> operands) {
  Trace* const trace = Trace::current();
  if (!trace) return;
  for (const Tensor* operand : operands) trace->read(*operand);
}

void Trace::forget_reads() {
  if (!open_.empty()) ops[open_.back()].reads.clear();
}

void traced_casts(std::initializer_list<const Tensor*> operands) {
  if (Trace* const trace = Trace::current()) trace->forget_reads();
  traced_reads(operands);
}

}  // namespace memtape::ghost
