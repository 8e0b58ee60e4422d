// SPDX-License-Identifier: Apache-2.0
// BeamSearch: _beam_search of GenerationMixin. The sequences, scores and indices of beams have
// places for the whole length from the start. After each pass, the rows of the cache are reordered
// to follow the beams that go on.
#pragma once

#include "framework/transformers/generation/generation.h"

namespace memtape::transformers {

class BeamSearch final : public Generation {
 public:
  BeamSearch(family::PretrainedModel& model, const Config& config, const GenerateRecipe& recipe);

 private:
  /// For each prompt: the tokens, their log-probabilities, and the beam from which each token came.
  struct Beams {
    Tensor sequences, scores, indices;
  };

  void decode() override;
  void place();
  void choose(Tensor logits);
  Beams top_continuations(const Tensor& log_probs) const;
  Beams running_beams(const Beams& top, const Tensor& hits_criteria) const;
  void update_finished(const Beams& top);
  void check_early_stop();
  void look_for_the_end();

  std::int64_t beams_, kept_, total_length_, vocabulary_;
  std::int64_t current_length_;
  Tensor top_beam_mask_;
  Beams running_, finished_;
  Tensor is_finished_, may_improve_, hits_criteria_;
  Tensor flat_sequences_, logits_, log_probs_;
  Tensor beam_idx_;  ///< a view of the indices of the previous pass
  Beams top_;
};

}  // namespace memtape::transformers
