// SPDX-License-Identifier: Apache-2.0
// CandidateGenerator: where assisted decoding gets tokens that the model then checks all at once
// (generation/candidate_generator.py).
#pragma once

#include "ghost/tensor.h"

namespace memtape::transformers {

class CandidateGenerator {
 public:
  CandidateGenerator() = default;
  virtual ~CandidateGenerator() = default;
  CandidateGenerator(const CandidateGenerator&) = delete;
  CandidateGenerator& operator=(const CandidateGenerator&) = delete;

  /// get_candidates: [1, S] with the candidates behind it; `input_ids` where there are none.
  virtual ghost::Tensor candidates(const ghost::Tensor& input_ids) = 0;
};

}  // namespace memtape::transformers
