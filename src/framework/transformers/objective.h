// SPDX-License-Identifier: Apache-2.0
// Objective: how a micro-batch becomes a loss: Trainer.compute_loss, and what trainers derived from
// it put in its place.
#pragma once

#include "family/pretrained.h"

namespace memtape::transformers {

class Objective {
 public:
  Objective() = default;
  virtual ~Objective() = default;
  Objective(const Objective&) = delete;
  Objective& operator=(const Objective&) = delete;

  /// _prepare_inputs, before the model runs.
  virtual void prepare_inputs() {}
  virtual ghost::Tensor compute_loss(const family::Batch& inputs) = 0;
  /// Whether the batches have labels to count.
  virtual bool counts_items() const { return true; }
  /// Whether training_step divides the loss by the number of micro-batches.
  virtual bool divides_loss() const { return !counts_items(); }
};

}  // namespace memtape::transformers
