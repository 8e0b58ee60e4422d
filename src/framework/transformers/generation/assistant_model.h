// SPDX-License-Identifier: Apache-2.0
// AssistantModel: a smaller model generates the candidates (AssistedCandidateGenerator) and keeps
// its cache from round to round. It is assumed to be sure of every token, so that each round has as
// many candidates as possible, and the checking model is assumed to agree with all of them.
#pragma once

#include "family/caches/key_value_cache.h"
#include "framework/transformers/generate.h"
#include "framework/transformers/generation/candidates.h"

namespace memtape::transformers {

class AssistantModel final : public CandidateGenerator {
 public:
  AssistantModel(family::PretrainedModel& model, const Config& config,
                 const GenerateRecipe& recipe);
  void begin(const GenerationInputs& inputs, bool has_bos) override;
  Candidates candidates(const ghost::Tensor& input_ids) override;
  void all_matched() override;

 private:
  family::PretrainedModel& model_;
  GenerateRecipe recipe_;  ///< that of one round
  std::int64_t max_length_, num_assistant_tokens_;
  bool grows_, has_bos_;
  family::KeyValueCache cache_;
  GenerationInputs kwargs_;  ///< assistant_kwargs
  ghost::Tensor bos_token_, pad_token_;
};

}  // namespace memtape::transformers
