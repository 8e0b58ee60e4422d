// SPDX-License-Identifier: Apache-2.0
// AssistedDecoding: _assisted_decoding of GenerationMixin. A round is a pass over candidates for
// the next tokens; those are kept that the model would have chosen itself. All are assumed to be
// kept: the cache and the logits of a round do not depend on it, and there are as few rounds as
// possible.
#pragma once

#include <memory>
#include <vector>

#include "framework/transformers/generation/candidates.h"
#include "framework/transformers/generation/generation.h"

namespace memtape::transformers {

class AssistedDecoding final : public Generation {
 public:
  AssistedDecoding(family::PretrainedModel& model, const Config& config,
                   const GenerateRecipe& recipe, std::unique_ptr<CandidateGenerator> generator);

 private:
  void decode() override;
  void verify(std::int64_t proposed, int round);
  void change_scores(std::int64_t proposed);
  /// The number of tokens that a round keeps: the candidates that are kept and one token of the
  /// model's own.
  std::int64_t select_tokens(std::int64_t proposed);
  void select_by_comparison(std::int64_t proposed, std::int64_t matches);
  void keep(std::int64_t proposed, std::int64_t matches);
  void look_for_the_end();

  std::unique_ptr<CandidateGenerator> generator_;
  std::int64_t max_length_;
  Candidates candidates_;
  Tensor unfinished_sequences_, is_done_candidate_;
  Tensor logits_, new_logits_, next_token_logits_, probs_;
  Tensor n_matches_, selected_tokens_, candidate_new_tokens_, valid_tokens_;
  std::vector<Tensor> returned_;  ///< the scores and logits of every round
};

}  // namespace memtape::transformers
