// SPDX-License-Identifier: Apache-2.0
// Objective: how a micro-batch becomes a loss: Trainer.compute_loss, and what trainers derived from
// it put in its place; and Inputs, the micro-batch as its collator makes it.
#pragma once

#include <vector>

#include "family/pretrained.h"

namespace memtape::transformers {

/// Sequences that follow each other in one row say where they are: position_ids [1, N] int64,
/// cu_seq_lens [n + 1] and seq_idx [1, N] int32.
struct Inputs : family::Batch {
  ghost::Tensor position_ids, cu_seq_lens_q, cu_seq_lens_k, seq_idx;
  std::vector<ghost::Tensor> rest;  ///< what else the batch holds, as its collator says
};

class Objective {
 public:
  Objective() = default;
  virtual ~Objective() = default;
  Objective(const Objective&) = delete;
  Objective& operator=(const Objective&) = delete;

  /// _prepare_inputs, before the model runs.
  virtual void prepare_inputs() {}
  virtual ghost::Tensor compute_loss(const Inputs& inputs) = 0;
  /// Whether the batches have labels to count.
  virtual bool counts_items() const { return true; }
  /// Whether training_step divides the loss by the number of micro-batches.
  virtual bool divides_loss() const { return !counts_items(); }
};

}  // namespace memtape::transformers
