// SPDX-License-Identifier: Apache-2.0
// Generation: what generate() does with any decoding method (GenerationMixin of transformers 5.17,
// generation/utils.py): its inputs, with one row for each sequence, the prefill, and passes of one
// token each. The decoding method, which is a class of its own, chooses the next tokens.
#pragma once

#include "family/caches/key_value_cache.h"
#include "family/masks/masking.h"
#include "family/parts/forward_arguments.h"
#include "framework/transformers/generate.h"
#include "framework/transformers/generation/inputs.h"
#include "ghost/session.h"

namespace memtape::transformers {

using family::KeyValueCache;
using ghost::Tensor;

class Generation {
 public:
  /// The heads of keys and values in every layer.
  struct HeadShape {
    std::int64_t heads, head_dim;
  };
  /// For a program that does nothing but generate: its passes are marked.
  Generation(family::PretrainedModel& model, const Config& config, const GenerateRecipe& recipe);
  /// For use inside of another program, which sets its own marks.
  Generation(family::PretrainedModel& model, const GenerateRecipe& recipe, LogitsOf forward);
  /// For a model that makes candidates for another one. It goes on with a cache that may hold
  /// tokens.
  Generation(family::PretrainedModel& model, const GenerateRecipe& recipe, bool has_bos,
             GenerationInputs given, KeyValueCache& cache);
  virtual ~Generation() = default;
  Generation(const Generation&) = delete;
  Generation& operator=(const Generation&) = delete;

  /// Whether the generation_config of a model names a token that begins a text.
  static bool has_bos_token(const Config& config);

  void run();
  bool takes_cache() const { return cache_.holds_anything(); }
  /// The prompts and completions.
  const Tensor& token_ids() const { return so_far_.input_ids; }

 protected:
  using Stage = family::ForwardArguments::Stage;

  using Inputs = GenerationInputs;

  /// The decoding method: _sample, _beam_search.
  virtual void decode() = 0;

  /// The number of sequences: each prompt counts as often as it is expanded.
  std::int64_t sequences() const { return so_far_.input_ids.size(0); }
  std::int64_t length() const { return so_far_.input_ids.size(1); }
  bool failed() const { return session_.error.has_value(); }

  /// _prefill
  Tensor prefill();
  /// The pass that follows `made` new tokens. It has one token for each sequence.
  Tensor next_pass(std::int64_t made, Stage stage);
  /// One pass over the candidates at the end of the ids, which gives the logits of each candidate
  /// and of the token before them. The first pass also covers the prompt.
  Tensor candidate_pass(const Tensor& candidate_input_ids, int round);
  /// _update_model_kwargs_for_generation
  void lengthen_arguments(std::int64_t tokens = 1);

  /// Whether the special tokens include one that begins a text.
  bool has_bos() const { return has_bos_; }

  const GenerateRecipe& recipe_;

 private:
  std::unique_ptr<KeyValueCache> own_cache_;

 protected:
  KeyValueCache& cache_;
  Inputs so_far_;  ///< with the tokens that have been made since
  Tensor pad_token_;

 private:
  void prepare();
  void prepare_special_tokens();
  void prepare_inputs();
  void expand();
  void place_cache();
  Tensor resume();
  Tensor forward(const Inputs& inputs, const Tensor& mask, Stage stage,
                 std::int64_t logits_to_keep = 1);
  void mark(Phase phase);
  std::unique_ptr<family::MasksForGenerate> prepare_masks(Inputs& inputs);

  family::PretrainedModel& model_;
  LogitsOf forward_;
  bool marks_passes_ = true;
  ghost::Session& session_;
  family::AttentionImplementation attention_ = family::AttentionImplementation::sdpa;
  /// For a static cache that is allocated before the first pass.
  std::optional<HeadShape> static_heads_;
  bool has_bos_ = false, is_mamba_ = false, takes_position_ids_ = true;
  int pass_ = 0;
  Inputs given_;             ///< those that generate() was given
  Inputs expanded_;          ///< the same, once for each sequence
  Inputs candidate_inputs_;  ///< candidate_kwargs of the last round
  Inputs model_inputs_;      ///< those of the last pass
  Tensor bos_token_, eos_tokens_;
};

/// outputs.logits[:, -1].to(copy=True, dtype=torch.float32)
Tensor copied_to_float(const Tensor& logits);

/// stopping_criteria(input_ids, scores), which says for each of `sequences` sequences whether it is
/// done. There is always the criterion of the length; if there is an end-of-sequence token, there
/// is one for it; and with `scores` there is one for the probability of the last token.
Tensor stopping_criteria(std::int64_t sequences, bool looks_for_eos, const Tensor& scores = {});

}  // namespace memtape::transformers
