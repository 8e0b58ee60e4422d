// SPDX-License-Identifier: Apache-2.0
// What trl's trainers did before their fused head (trl 0.9 to 1.14): they called the model for its
// logits and took from them the log-probabilities of the labels and what is logged.
#pragma once

#include "framework/transformers/trl/fused_lm_head.h"

namespace memtape::transformers::trl {

/// The fields of the fused head's output, from whole logits (DPOTrainer._compute_loss of trl 0.29).
FusedOutput whole_logits_forward(const PreparedModel& model, const family::Batch& inputs,
                                 FusedCount count, PreparedModel::Callee callee);

/// What DPOTrainer logs once it has its loss: the entropy and the means of logits that were kept.
void log_kept_logits(FusedOutput& outputs, const ghost::Tensor& completion_mask,
                     std::int64_t scored);

/// entropy_from_logits without gradients (trl 0.20 to 1.13): [B, S] for logits [B, S, V].
ghost::Tensor entropy_of_logits(const ghost::Tensor& logits);

/// What SFTTrainer logs of the logits (SFTTrainer.compute_loss of trl 0.15 to 1.14). `labels` are
/// those of the batch.
void log_metrics_of_logits(const ghost::Tensor& logits, const ghost::Tensor& labels);

}  // namespace memtape::transformers::trl
