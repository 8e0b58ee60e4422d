// SPDX-License-Identifier: Apache-2.0
// CandidateGenerator: where assisted decoding gets the tokens that the model then checks all at
// once (generation/candidate_generator.py).
#pragma once

#include "framework/transformers/generation/inputs.h"

namespace memtape::transformers {

/// The token ids with the candidates at their end, [1, S], and, if a model chose the candidates,
/// the scores by which it chose them, [1, C, V].
struct Candidates {
  ghost::Tensor input_ids, logits;
};

class CandidateGenerator {
 public:
  CandidateGenerator() = default;
  virtual ~CandidateGenerator() = default;
  CandidateGenerator(const CandidateGenerator&) = delete;
  CandidateGenerator& operator=(const CandidateGenerator&) = delete;

  /// Gets the inputs of the checking model, and whether the model's special tokens include one that
  /// begins a text.
  virtual void begin(const GenerationInputs& /*inputs*/, bool /*has_bos*/) {}
  /// get_candidates. It returns just `input_ids` if there are none.
  virtual Candidates candidates(const ghost::Tensor& input_ids) = 0;
  /// update_candidate_strategy after a round whose candidates were all kept.
  virtual void all_matched() {}
};

}  // namespace memtape::transformers
