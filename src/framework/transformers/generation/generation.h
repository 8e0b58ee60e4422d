// SPDX-License-Identifier: Apache-2.0
// Generation: what generate() does whatever its decoding method (GenerationMixin of transformers
// 5.17, generation/utils.py): its inputs, one for each sequence that is worked on, the prefill, and
// passes of a token each. How the next tokens are chosen is the decoding method's, a class of its
// own.
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
  /// Key and value heads of every layer.
  struct HeadShape {
    std::int64_t heads, head_dim;
  };
  /// Of a program that does nothing but generate: its passes are marked.
  Generation(family::PretrainedModel& model, const Config& config, const GenerateRecipe& recipe);
  /// Within another program, whose own marks stand.
  Generation(family::PretrainedModel& model, const GenerateRecipe& recipe, LogitsOf forward);
  /// Of a model that makes candidates for another: goes on with a cache that may hold tokens.
  Generation(family::PretrainedModel& model, const GenerateRecipe& recipe, bool has_bos,
             GenerationInputs given, KeyValueCache& cache);
  virtual ~Generation() = default;
  Generation(const Generation&) = delete;
  Generation& operator=(const Generation&) = delete;

  /// Whether a model's generation_config names a token that begins a text.
  static bool has_bos_token(const Config& config);

  void run();
  bool takes_cache() const { return cache_.holds_anything(); }
  /// Prompts and completions.
  const Tensor& token_ids() const { return so_far_.input_ids; }

 protected:
  using Stage = family::ForwardArguments::Stage;

  using Inputs = GenerationInputs;

  /// The decoding method: _sample, _beam_search.
  virtual void decode() = 0;

  /// How many sequences are worked on: the prompts, each as often as it is expanded.
  std::int64_t sequences() const { return so_far_.input_ids.size(0); }
  std::int64_t length() const { return so_far_.input_ids.size(1); }
  bool failed() const { return session_.error.has_value(); }

  /// _prefill
  Tensor prefill();
  /// The pass that follows `made` new tokens, of one token a sequence.
  Tensor next_pass(std::int64_t made, Stage stage);
  /// One pass over the candidates behind what is there, with the logits of each and of the token
  /// before; the first is over the prompt, too.
  Tensor candidate_pass(const Tensor& candidate_input_ids, int round);
  /// _update_model_kwargs_for_generation
  void lengthen_arguments(std::int64_t tokens = 1);

  /// A token that begins a text is among the special tokens.
  bool has_bos() const { return has_bos_; }

  const GenerateRecipe& recipe_;

 private:
  std::unique_ptr<KeyValueCache> own_cache_;

 protected:
  KeyValueCache& cache_;
  Inputs so_far_;  ///< with the tokens made since
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
  std::optional<HeadShape>
      static_heads_;  ///< of a static cache that is placed before the first pass
  bool has_bos_ = false, is_mamba_ = false, takes_position_ids_ = true;
  int pass_ = 0;
  Inputs given_;             ///< generate()'s own
  Inputs expanded_;          ///< those, once for each sequence
  Inputs candidate_inputs_;  ///< candidate_kwargs of the last round
  Inputs model_inputs_;      ///< of the last pass
  Tensor bos_token_, eos_tokens_;
};

/// outputs.logits[:, -1].to(copy=True, dtype=torch.float32)
Tensor copied_to_float(const Tensor& logits);

/// stopping_criteria(input_ids, scores), of which there is the one about the length, that about the
/// end-of-sequence token where there is one, and with `scores` that about the last one's
/// probability: whether each of so many sequences is done.
Tensor stopping_criteria(std::int64_t sequences, bool looks_for_eos, const Tensor& scores = {});

}  // namespace memtape::transformers
