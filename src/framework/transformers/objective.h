// SPDX-License-Identifier: Apache-2.0
// Objective: how a micro-batch becomes a loss: Trainer.compute_loss, and what trainers that derive
// from Trainer replace it by. Inputs is the micro-batch as its collator makes it.
#pragma once

#include <vector>

#include "family/pretrained.h"

namespace memtape::transformers {

/// If sequences follow each other in one row, these say where they are: position_ids [1, N] int64,
/// cu_seq_lens [n + 1] and seq_idx [1, N] int32.
struct Inputs : family::Batch {
  ghost::Tensor position_ids, cu_seq_lens_q, cu_seq_lens_k, seq_idx;
  /// The other tensors of the batch, in the order of its collator.
  std::vector<ghost::Tensor> rest;
};

class Objective {
 public:
  Objective() = default;
  virtual ~Objective() = default;
  Objective(const Objective&) = delete;
  Objective& operator=(const Objective&) = delete;

  /// _prepare_inputs, which runs before the model.
  virtual void prepare_inputs() {}
  virtual ghost::Tensor compute_loss(const Inputs& inputs) = 0;
  /// After zero_grad.
  virtual void end_step() {}
  /// Whether the batches have labels that are counted.
  virtual bool counts_items() const { return true; }
  /// Whether training_step divides the loss by the number of micro-batches.
  virtual bool divides_loss() const { return !counts_items(); }
};

}  // namespace memtape::transformers
