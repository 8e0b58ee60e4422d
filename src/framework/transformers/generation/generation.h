// SPDX-License-Identifier: Apache-2.0
// Generation: what generate() does whatever its decoding method (GenerationMixin of transformers
// 5.17, generation/utils.py): its inputs, one for each sequence that is worked on, the prefill, and
// passes of a token each. How the next tokens are chosen is the decoding method's, a class of its
// own.
#pragma once

#include "family/forward_arguments.h"
#include "family/key_value_cache.h"
#include "family/masking.h"
#include "framework/transformers/generate.h"
#include "ghost/session.h"

namespace memtape::transformers {

using family::KeyValueCache;
using ghost::Tensor;

class Generation {
 public:
  Generation(family::PretrainedModel& model, const Config& config, const GenerateRecipe& recipe);
  virtual ~Generation() = default;
  Generation(const Generation&) = delete;
  Generation& operator=(const Generation&) = delete;

  void run();
  bool takes_cache() const { return cache_.holds_anything(); }

 protected:
  using Stage = family::ForwardArguments::Stage;

  /// What prepare_inputs_for_generation hands to the model.
  struct Inputs {
    Tensor input_ids, attention_mask, position_ids;
    Tensor full_mask, sliding_mask;  ///< made before the pass, with a fixed cache
  };

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
  /// _update_model_kwargs_for_generation
  void lengthen_arguments();

  const GenerateRecipe& recipe_;
  KeyValueCache cache_;
  Inputs so_far_;  ///< with the tokens made since

 private:
  void prepare();
  void expand();
  Tensor forward(const Inputs& inputs, Stage stage);
  std::unique_ptr<family::MasksForGenerate> prepare_masks(Inputs& inputs);

  family::PretrainedModel& model_;
  ghost::Session& session_;
  family::AttentionImplementation attention_;
  bool has_bos_, is_mamba_;
  int pass_ = 0;
  Inputs given_;         ///< generate()'s own
  Inputs expanded_;      ///< those, once for each sequence
  Inputs model_inputs_;  ///< of the last pass
  Tensor bos_token_, pad_token_;
};

/// outputs.logits[:, -1].to(copy=True, dtype=torch.float32)
Tensor copied_to_float(const Tensor& logits);

/// stopping_criteria(input_ids, scores), of which there is the one about the length: whether each
/// of so many sequences is done.
Tensor stopping_criteria(std::int64_t sequences);

}  // namespace memtape::transformers
