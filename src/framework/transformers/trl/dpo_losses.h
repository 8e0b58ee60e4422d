// SPDX-License-Identifier: Apache-2.0
// The losses of DPOTrainer._compute_loss (trl 1.16, trainer/dpo_trainer.py) from log-probabilities
// of whole sequences, [B] each: what every loss_type and f_divergence_type makes and keeps for
// backward.
#pragma once

#include <vector>

#include "framework/transformers/trl/pair.h"
#include "workload/trl_recipes.h"

namespace memtape::transformers::trl {

/// What the losses are made of.
struct DpoTerms {
  Pair logps, reference, logratios;
  Pair scores;                    ///< logratios under f_divergence_type
  ghost::Tensor delta_score;      ///< their difference
  Pair completion_masks;          ///< [B, S] each
  ghost::Tensor per_token_logps;  ///< [2 B, S - 1]
  ghost::Tensor chosen_shifted;   ///< the chosen sequences' part of the shifted completion mask
  std::int64_t scored_of_chosen = 0;
};

/// chosen_scores and rejected_scores.
Pair divergence_scores(const std::string& f_divergence_type, const Pair& logratios);

/// The sum over loss_type of weighted means. What is named there lives in `locals` until the
/// function that asks returns.
ghost::Tensor dpo_loss(const std::vector<std::string>& loss_types, const DpoTerms& terms,
                       std::vector<ghost::Tensor>& locals);

}  // namespace memtape::transformers::trl
