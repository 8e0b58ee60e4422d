// SPDX-License-Identifier: Apache-2.0
// ImageTextToText: a vision tower, a language model and a head, trained on text alone; mirroring
// LlavaForConditionalGeneration of transformers 5.17 models/llava/modeling_llava.py and Qwen's
// models of that build. The language model's own configuration keeps use_cache, so keys and values
// pass through a cache.
#pragma once

#include "family/caches/own_cache.h"
#include "family/parts/decoder.h"
#include "ghost/ops/comparisons.h"
#include "ghost/ops/pointwise.h"
#include "release/multimodal_changes.h"

namespace memtape::family {

/// Whether the head is the embedding's table, of what the whole configuration and its text's say.
inline bool ties_head(bool whole, bool text) {
  return ghost::has(changes::kTextsTieHeads) && !ghost::has(changes::kWholesTieHeads) ? text
                                                                                      : whole;
}

/// `Vision` is made with (scope of `model`, vision settings). It may name the language model's
/// module in `kLanguageModel`.
template <class Vision, class Language>
class ImageTextToText : public PretrainedModel {
 public:
  struct Settings {
    typename Vision::Settings vision;
    typename Language::Settings text;
    bool use_cache = true;
    bool replaces_image_token =
        false;  ///< the token lies beyond the vocabulary (Gemma3Model.forward)
  };

  ImageTextToText(const Settings& c, const ModelOptions& options)
      : PretrainedModel(options),
        config_(c),
        scope_(root() / "model"),
        vision_(scope_, c.vision),
        language_model_(scope_ / language_model_name(), c.text),
        lm_head_(root() / "lm_head", c.text.hidden_size, c.text.vocab_size, false) {
    if (c.text.tie_word_embeddings) nn::tie(lm_head_, language_model_.embed_tokens.weight);
  }

  ModelOutput forward(const Batch& batch) override {
    const OwnCache past_key_values(config_.use_cache, tree, {.sliding_windows = sliding_windows()});
    Frame frame;
    Tensor hidden_states = run_text(batch, frame);
    Tensor logits = lm_head_(kept_for_logits(hidden_states, this->model_type));
    if (head_is_of_text(this->model_type)) hidden_states.reset();
    Tensor loss = causal_lm_loss(logits, batch, config_.text.vocab_size, this->model_type);
    return {std::move(loss), std::move(logits)};
  }

  Tensor last_hidden_state(const Batch& batch) override {
    Frame frame;
    return run_text(batch, frame);
  }

  nn::Projection* head() override { return &lm_head_; }

  std::vector<std::int64_t> sliding_windows() const override {
    return family::sliding_windows(config_.text);
  }

 private:
  /// What the whole model's forward holds until it returns, where it embeds the tokens itself.
  struct Frame {
    Tensor inputs_embeds;
    Positions positions;
  };

  Tensor run_text(const Batch& batch, Frame& frame) {
    Tensor special_image_mask, llm_input_ids = batch.input_ids;
    if (config_.replaces_image_token) {
      special_image_mask = ghost::eq(batch.input_ids, ghost::kTokenId);
      llm_input_ids = batch.input_ids.clone();
    }
    if constexpr (requires { typename Language::Embedded; }) {
      if (embeds_before_text(this->model_type)) {
        frame.inputs_embeds = language_model_.embed_tokens(llm_input_ids);
        Positions* const counted =
            counts_before_text(this->model_type) ? &frame.positions : nullptr;
        return language_model_(frame.inputs_embeds, batch.attention_mask,
                               typename Language::Embedded{counted});
      }
    }
    return language_model_(llm_input_ids, batch.attention_mask);
  }

  static constexpr const char* language_model_name() {
    if constexpr (requires { Vision::kLanguageModel; })
      return Vision::kLanguageModel;
    else
      return "language_model";
  }

  Settings config_;
  nn::Scope scope_;
  Vision vision_;
  Language language_model_;
  nn::Linear lm_head_;
};

}  // namespace memtape::family
