// SPDX-License-Identifier: Apache-2.0
// SFTTrainer.compute_loss (trl 1.16, trainer/sft_trainer.py): the negative log-likelihood from the
// fused head, or the label smoother's loss from all logits, and the metrics that it keeps with the
// loss. In evaluation, the loss itself counts the labels of a batch. Sequences in one row are told
// apart by their positions, and the first label of each sequence does not count.
#pragma once

#include <optional>

#include "family/masks/masking.h"
#include "family/masks/sequence_lengths.h"
#include "family/parts/forward_arguments.h"
#include "framework/transformers/objective.h"
#include "framework/transformers/prepared_model.h"
#include "framework/transformers/trainer_objective.h"
#include "framework/transformers/trl/fused_lm_head.h"

namespace memtape::transformers::trl {

/// What a forward is told about the sequences in its row. Layers that are computed again in
/// backward are told it, too.
class PassedSequences {
 public:
  explicit PassedSequences(const Inputs& inputs);

 private:
  family::ForwardArguments arguments_;
  family::PackedSequences packed_;
  family::SequenceLengths lengths_;
};

class SftObjective final : public Objective {
 public:
  SftObjective(const TrainRecipe& recipe, const PreparedModel& model);

  ghost::Tensor compute_loss(const Inputs& inputs) override;

 private:
  /// The locals of compute_loss, which live until it returns.
  struct Locals {
    FusedOutput outputs;
    ghost::Tensor per_token_loss, num_tokens, weighted_aux_loss;
  };

  std::int64_t scored_in(const Inputs& inputs) const;
  FusedOutput outputs_of(const Inputs& inputs) const;
  ghost::Tensor smoothed_loss(const Inputs& inputs, Locals& kept) const;
  ghost::Tensor fused_loss(const Inputs& inputs, Locals& kept) const;
  ghost::Tensor loss_of_logits(const Inputs& inputs);
  void log_metrics(const Inputs& inputs, const FusedOutput& outputs) const;

  const PreparedModel& model_;
  TrainerObjective of_trainer_;            ///< of releases whose loss is Trainer's
  std::optional<PassedSequences> passed_;  ///< until the last forward that has a backward
  std::optional<std::int64_t> scored_;  ///< the labels of a training batch that count; not set: all
  std::int64_t batch_tokens_, ranks_;
  bool dynamic_fine_tuning_;  ///< loss_type="dft"
  bool has_ligers_head_;      ///< use_liger_kernel
  bool smooths_labels_, balances_experts_, averages_tokens_;
};

}  // namespace memtape::transformers::trl
