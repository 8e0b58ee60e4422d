// SPDX-License-Identifier: Apache-2.0
// SequenceLengths: the cu_seq_lens_q and cu_seq_lens_k that a forward gets in addition to its
// tokens. While this lives, also when checkpointed layers are recomputed, flash attention uses its
// kernels for varied lengths and so keeps the sequences of a row apart (_flash_attention_forward of
// transformers 5.17, modeling_flash_attention_utils.py).
#pragma once

#include <utility>

#include "ghost/given.h"
#include "ghost/ops/flash_attn_varlen.h"

namespace memtape::family {

class SequenceLengths {
 public:
  static constexpr ghost::Slot kSlot = ghost::Slot::sequence_lengths;
  explicit SequenceLengths(ghost::SequenceBounds cu_seq_lens)
      : cu_seq_lens_(std::move(cu_seq_lens)) {}

  /// The lengths in force, or null.
  static const ghost::SequenceBounds* passed();

 private:
  ghost::SequenceBounds cu_seq_lens_;
  ghost::Given<SequenceLengths> given_{this};
};

}  // namespace memtape::family
