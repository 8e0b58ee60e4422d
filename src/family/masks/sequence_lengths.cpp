// SPDX-License-Identifier: Apache-2.0
#include "family/masks/sequence_lengths.h"

#include <utility>

namespace memtape::family {
namespace {

thread_local SequenceLengths* current_lengths = nullptr;

}  // namespace

SequenceLengths::SequenceLengths(ghost::SequenceBounds cu_seq_lens)
    : cu_seq_lens_(std::move(cu_seq_lens)), outer_(std::exchange(current_lengths, this)) {}

SequenceLengths::~SequenceLengths() { current_lengths = outer_; }

const ghost::SequenceBounds* SequenceLengths::passed() {
  return current_lengths ? &current_lengths->cu_seq_lens_ : nullptr;
}

}  // namespace memtape::family
