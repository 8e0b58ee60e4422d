// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/generation/assistant_model.h"

#include <algorithm>
#include <utility>

#include "framework/transformers/generation/sampling.h"
#include "ghost/autograd/node.h"
#include "ghost/ops/joins.h"

namespace memtape::transformers {

using ghost::Tensor;

namespace {

/// generation_config as __init__ changes it: scores are returned, and the last one's confidence is
/// asked for.
GenerateRecipe recipe_of_assistant(GenerateRecipe recipe) {
  recipe.output_scores = true;
  recipe.output_logits = false;
  recipe.asks_confidence = recipe.assistant->asks_confidence;
  return recipe;
}

/// torch.stack(scores, dim=1)
Tensor stacked(const std::vector<Tensor>& scores) {
  const ghost::Op op("stack", {});
  return ghost::empty({1, static_cast<std::int64_t>(scores.size()), scores.front().size(-1)},
                      scores.front().dtype());
}

}  // namespace

AssistantModel::AssistantModel(family::PretrainedModel& model, const Config& config,
                               const GenerateRecipe& recipe)
    : model_(model),
      recipe_(recipe_of_assistant(recipe)),
      max_length_(recipe.prompt_length + recipe.max_new_tokens),
      num_assistant_tokens_(recipe.assistant->num_assistant_tokens),
      grows_(recipe.assistant->grows),
      has_bos_(Generation::has_bos_token(config)),
      cache_({.sliding_windows = model.sliding_windows(), .records_past = true}) {}

/// The generation config is copied with its special tokens.
void AssistantModel::begin(const GenerationInputs& inputs, bool has_bos) {
  kwargs_ = inputs;
  has_bos_ = has_bos_ || has_bos;
  if (has_bos) bos_token_ = int64s({});
  pad_token_ = int64s({});
}

Candidates AssistantModel::candidates(const Tensor& input_ids) {
  const std::int64_t length = input_ids.size(1);
  recipe_.max_new_tokens = std::min(num_assistant_tokens_, max_length_ - length - 1);
  if (recipe_.max_new_tokens == 0) return {input_ids, {}};
  if (cache_.seen() > 0) {  // _update_past_and_masks
    cache_.crop(0);
    kwargs_.append(length - kwargs_.attention_mask.size(1));
  }
  GenerationInputs given = kwargs_;
  given.input_ids = input_ids;
  Candidates made;
  std::vector<Tensor> scores;
  {
    Sampling generation(model_, recipe_, has_bos_, std::move(given), cache_);
    generation.run();
    made.input_ids = generation.token_ids();
    scores = generation.scores();
  }
  if (!scores.empty()) made.logits = stacked(scores);
  return made;
}

/// The schedules named "heuristic".
void AssistantModel::all_matched() {
  if (grows_) num_assistant_tokens_ += 2;
}

}  // namespace memtape::transformers
