// SPDX-License-Identifier: Apache-2.0
// Models whose language model is made first and whose towers, of images or sounds, stand behind it,
// trained on text alone: towers take memory, and get no gradients. The text's own configuration
// keeps use_cache, so keys and values pass through a cache. Mirrors Lfm3VlForConditionalGeneration
// of transformers 5.24 models/lfm3_vl/modeling_lfm3_vl.py and models of that build.
#pragma once

#include <vector>

#include "family/caches/own_cache.h"
#include "family/parts/decoder.h"

namespace memtape::family {

/// The settings of a text model and of the towers behind it.
template <class Text, class Towers>
struct TextAndTowers : Text {
  TextAndTowers(const Text& text, const Towers& its_towers, bool uses_cache)
      : Text(text), towers(its_towers), use_cache(uses_cache) {}
  Towers towers;
  bool use_cache;  ///< the text's own configuration says so
};

/// `model`: `Towers` is made with (its scope, their settings).
template <class Settings, class Language, class Towers>
class TextBeforeTowers : public nn::Module<TextBeforeTowers<Settings, Language, Towers>> {
 public:
  TextBeforeTowers(const nn::Scope& scope, const Settings& c)
      : nn::Module<TextBeforeTowers>(scope),
        language_model_(scope / "language_model", c),
        towers_(scope, c.towers) {}

  Tensor forward(const Tensor& input_ids, const Tensor& attention_mask) {
    return language_model_(input_ids, attention_mask);
  }

 private:
  Language language_model_;
  Towers towers_;

 public:
  nn::Embedding& embed_tokens = language_model_.embed_tokens;
};

/// `TextParts` are those of the text model alone, `Language` is its body.
template <class TextParts, class Language, class Towers>
struct TextBeforeTowersParts : TextParts {
  using Settings = TextAndTowers<typename TextParts::Settings, typename Towers::Settings>;
  using Model = TextBeforeTowers<Settings, Language, Towers>;
};

template <class Parts>
class TextBeforeTowersForConditionalGeneration final
    : public DecoderForCausalLM<Parts, typename Parts::Model> {
 public:
  using Base = DecoderForCausalLM<Parts, typename Parts::Model>;
  TextBeforeTowersForConditionalGeneration(const typename Parts::Settings& c,
                                           const ModelOptions& options)
      : Base(c, options), use_cache_(c.use_cache), windows_(family::sliding_windows(c)) {
    if constexpr (requires { c.attends(0); }) {
      std::int64_t layer = 0;
      std::erase_if(windows_, [&](std::int64_t) { return !c.attends(layer++); });
    }
  }

  ModelOutput forward(const Batch& batch) override {
    const OwnCache past_key_values(use_cache_, this->tree, {.sliding_windows = windows_});
    return Base::forward(batch);
  }

 private:
  bool use_cache_;
  std::vector<std::int64_t> windows_;  ///< of the layers that have keys and values
};

/// Makes the whole model of a file whose text_config the text's settings were read from.
/// `ties_head`: where the file is silent.
template <class TextParts, class Language, class Towers>
ModelPointer build_text_before_towers(const Config& c, const typename TextParts::Settings& text,
                                      const typename Towers::Settings& towers, bool ties_head,
                                      const ModelOptions& options) {
  using Parts = TextBeforeTowersParts<TextParts, Language, Towers>;
  typename Parts::Settings settings(text, towers,
                                    c.object("text_config").boolean("use_cache", true));
  settings.tie_word_embeddings = c.boolean("tie_word_embeddings", ties_head);
  return build_checked<TextBeforeTowersForConditionalGeneration<Parts>>(c, settings, options);
}

}  // namespace memtape::family
