// SPDX-License-Identifier: Apache-2.0
// GRPOTrainer._generate_and_score_completions (trl 1.16, trainer/grpo_trainer.py): generate() of
// transformers makes the completions of a generation batch. Then it computes their
// log-probabilities under the policy before its update and under the reference, and their
// advantages, shuffles them and divides them into micro-batches. Completions are assumed to be
// max_completion_length long, and prompts to have no padding. The statistics of the rewards are
// left out: they are a few numbers for each completion, which nothing keeps.
#pragma once

#include <vector>

#include "framework/transformers/prepared_model.h"
#include "framework/transformers/trl/fused_lm_head.h"
#include "framework/transformers/trl/trl_recipes.h"

namespace memtape::transformers::trl {

/// A micro-batch of completions, under trl's names.
struct Completions {
  ghost::Tensor prompt_ids, prompt_mask, completion_ids, completion_mask, advantages,
      num_items_in_batch, old_per_token_logps, ref_per_token_logps;
};

/// The log-probabilities [B, C] of the completions and, if they are asked for, the entropies
/// (_get_per_token_logps_and_entropies), computed in chunks of `batch_size` sequences.
struct TokenScores {
  ghost::Tensor logps, entropies;
};
struct ScoredTokens {
  std::int64_t logits_to_keep = 0, batch_size = 0;
  std::optional<std::int64_t> scored;  ///< that of a chunk, if not all completions count
  bool wants_entropy = false;
  bool makes_entropy = false;  ///< the entropies are computed and then dropped with the chunk
  PreparedModel::Callee callee = PreparedModel::Callee::model;
};
TokenScores score_tokens(const PreparedModel& model, const ghost::Tensor& input_ids,
                         const ghost::Tensor& attention_mask, const ScoredTokens& what);

class GrpoRollout {
 public:
  /// `reference` is the model beside the policy, or null.
  GrpoRollout(const TrainRecipe& recipe, const PreparedModel& model,
              const PreparedModel* reference);

  /// The micro-batches of a new generation batch.
  std::vector<Completions> generate_and_score();

 private:
  using Tensor = ghost::Tensor;
  void generate();
  Tensor reference_logps(const Tensor& input_ids, const Tensor& attention_mask) const;
  ScoredTokens scored_tokens() const;
  std::vector<Completions> shuffled_and_split(Completions all) const;

  const TrainRecipe& recipe_;
  const GrpoRecipe& grpo_;
  const PreparedModel& model_;
  const PreparedModel* reference_;
};

}  // namespace memtape::transformers::trl
