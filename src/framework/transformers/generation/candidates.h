// SPDX-License-Identifier: Apache-2.0
// CandidateGenerator: where assisted decoding gets tokens that the model then checks all at once
// (generation/candidate_generator.py).
#pragma once

#include "framework/transformers/generation/inputs.h"

namespace memtape::transformers {

/// [1, S] with the candidates behind what is there, and the scores they were chosen by, [1, C, V],
/// where a model chose them.
struct Candidates {
  ghost::Tensor input_ids, logits;
};

class CandidateGenerator {
 public:
  CandidateGenerator() = default;
  virtual ~CandidateGenerator() = default;
  CandidateGenerator(const CandidateGenerator&) = delete;
  CandidateGenerator& operator=(const CandidateGenerator&) = delete;

  /// What it is made with: the inputs of the model that checks, and whether its special tokens have
  /// one that begins a text.
  virtual void begin(const GenerationInputs& /*inputs*/, bool /*has_bos*/) {}
  /// get_candidates; `input_ids` alone where there are none.
  virtual Candidates candidates(const ghost::Tensor& input_ids) = 0;
  /// update_candidate_strategy after a round whose candidates were all kept.
  virtual void all_matched() {}
};

}  // namespace memtape::transformers
