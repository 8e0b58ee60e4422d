// SPDX-License-Identifier: Apache-2.0
#include "family/masks/sequence_lengths.h"

#include <utility>

namespace memtape::family {
namespace {

thread_local SequenceLengths* current = nullptr;

}  // namespace

SequenceLengths::SequenceLengths(ghost::SequenceBounds cu_seq_lens)
    : cu_seq_lens_(std::move(cu_seq_lens)), outer_(std::exchange(current, this)) {}

SequenceLengths::~SequenceLengths() { current = outer_; }

const ghost::SequenceBounds* SequenceLengths::passed() {
  return current ? &current->cu_seq_lens_ : nullptr;
}

}  // namespace memtape::family
