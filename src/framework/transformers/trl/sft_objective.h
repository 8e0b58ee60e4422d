// SPDX-License-Identifier: Apache-2.0
// SFTTrainer.compute_loss (trl 1.16, trainer/sft_trainer.py): the negative log-likelihood from the
// fused head, and the metrics it keeps beside it.
#pragma once

#include "framework/transformers/objective.h"
#include "framework/transformers/prepared_model.h"
#include "framework/transformers/trl/fused_lm_head.h"

namespace memtape::transformers::trl {

class SftObjective final : public Objective {
 public:
  SftObjective(const TrainRecipe& recipe, const PreparedModel& model);

  ghost::Tensor compute_loss(const family::Batch& inputs) override;

 private:
  const PreparedModel& model_;
  FusedCount count_;
  std::int64_t ranks_;
  bool dynamic_fine_tuning_;  ///< loss_type="dft"
};

}  // namespace memtape::transformers::trl
