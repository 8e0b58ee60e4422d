// SPDX-License-Identifier: Apache-2.0
// GaLoreAdamW8bit (galore-torch 1.0, adamw8bit.py) with bitsandbytes 0.50: the data of a target is
// replaced by its gradient of low rank while bitsandbytes updates that. Its eleventh argument,
// which was meant for percentile_clipping, is max_unorm there, so each parameter has a norm of its
// update.
#pragma once

#include "framework/transformers/bitsandbytes_optimizer.h"
#include "framework/transformers/low_rank/projector.h"

namespace memtape::transformers {

class GaloreAdamW8bit final : public BitsAndBytesOptimizer {
 public:
  GaloreAdamW8bit(torch::TensorList parameters, std::size_t first_target,
                  const LowRankRecipe& recipe);

  Bytes state_bytes() const override {
    return BitsAndBytesOptimizer::state_bytes() + bytes_of_all(projectors_);
  }

 private:
  void step_over(const torch::Places& places) override;
  std::vector<const torch::TensorList*> states() const override;
  void update_step(std::size_t place);

  std::size_t first_target_;
  std::vector<Projector> projectors_;
  torch::TensorList unorm_vec_;
};

}  // namespace memtape::transformers
