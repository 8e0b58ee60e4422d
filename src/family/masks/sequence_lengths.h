// SPDX-License-Identifier: Apache-2.0
// SequenceLengths: cu_seq_lens_q and cu_seq_lens_k as a forward is given them beside its tokens.
// While it lives, in the recomputation of checkpointed layers, too, flash attention keeps the
// sequences of a row apart by its kernels for varied lengths (_flash_attention_forward of
// transformers 5.17, modeling_flash_attention_utils.py).
#pragma once

#include "ghost/ops/flash_attn_varlen.h"

namespace memtape::family {

class SequenceLengths {
 public:
  explicit SequenceLengths(ghost::SequenceBounds cu_seq_lens);
  ~SequenceLengths();
  SequenceLengths(const SequenceLengths&) = delete;
  SequenceLengths& operator=(const SequenceLengths&) = delete;

  /// Those in force, or null.
  static const ghost::SequenceBounds* passed();

 private:
  ghost::SequenceBounds cu_seq_lens_;
  SequenceLengths* outer_;
};

}  // namespace memtape::family
