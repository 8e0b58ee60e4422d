// SPDX-License-Identifier: Apache-2.0
// The logits of completions before the fused head (trl 0.15 to 1.14, trainer/grpo_trainer.py,
// _get_per_token_logps_and_entropies): the model is told to make those of the last tokens alone, and
// they are divided by the temperature.
#pragma once

#include "framework/transformers/prepared_model.h"

namespace memtape::transformers::trl {

/// [B, keep, V]: the logits that score the last `keep` tokens.
ghost::Tensor kept_logits(const PreparedModel& model, const family::Batch& inputs,
                          std::int64_t keep, PreparedModel::Callee callee);

}  // namespace memtape::transformers::trl
