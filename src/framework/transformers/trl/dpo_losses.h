// SPDX-License-Identifier: Apache-2.0
// The losses of DPOTrainer._compute_loss (trl 1.16, trainer/dpo_trainer.py), which are computed
// from the log-probabilities of whole sequences, [B] each: what each loss_type and each
// f_divergence_type makes and keeps for backward.
#pragma once

#include <vector>

#include "framework/transformers/trl/pair.h"
#include "framework/transformers/trl/trl_recipes.h"

namespace memtape::transformers::trl {

/// What the losses are computed from.
struct DpoTerms {
  Pair logps, reference, logratios;
  Pair scores;                    ///< the logratios under f_divergence_type
  ghost::Tensor delta_score;      ///< their difference
  Pair completion_masks;          ///< [B, S] each
  ghost::Tensor per_token_logps;  ///< [2 B, S - 1]
  /// The part of the shifted completion mask for the chosen sequences.
  ghost::Tensor chosen_shifted;
  std::int64_t scored_of_chosen = 0;
};

/// Returns chosen_scores and rejected_scores.
Pair divergence_scores(const std::string& f_divergence_type, const Pair& logratios);

/// The sum over all loss types of their weighted means. What has a name there lives in `locals`
/// until the calling function returns.
ghost::Tensor dpo_loss(const std::vector<std::string>& loss_types, const DpoTerms& terms,
                       std::vector<ghost::Tensor>& locals);

}  // namespace memtape::transformers::trl
