// SPDX-License-Identifier: Apache-2.0
// LLaVA: CLIP's vision tower, a projector of two layers, and a language model of its own family;
// mirroring transformers 5.17 models/llava/modeling_llava.py.
#include <array>

#include "base/text.h"
#include "family/clip_towers.h"
#include "family/families.h"
#include "family/image_text_to_text.h"
#include "family/llama.h"

namespace memtape::family {
namespace {

/// vision_tower and multi_modal_projector of LlavaModel.
class LlavaVision {
 public:
  struct Settings {
    ClipVisionConfig tower;
    std::int64_t vision_features, text_hidden_size;
    bool projector_bias;
  };

  LlavaVision(const nn::Scope& scope, const Settings& c)
      : vision_tower_(scope / "vision_tower", c.tower),
        multi_modal_projector_(scope / "multi_modal_projector"),
        linear_1_(multi_modal_projector_ / "linear_1", c.vision_features, c.text_hidden_size,
                  c.projector_bias),
        linear_2_(multi_modal_projector_ / "linear_2", c.text_hidden_size, c.text_hidden_size,
                  c.projector_bias) {}

 private:
  ClipVisionTower vision_tower_;
  nn::Scope multi_modal_projector_;
  nn::Linear linear_1_, linear_2_;
};

/// The configuration of the tower of LLaVA 1.5 where there is none.
ClipVisionConfig vision_config(const Config& c, const ModelOptions& options) {
  const Config vision = c.object("vision_config");
  ClipVisionConfig config(vision, options);
  const std::string type = vision.text("model_type", "clip_vision_model");
  if (type != "clip_vision_model")
    c.fail("vision_config.model_type", "only clip_vision_model is modelled, found \"" + type + '"');
  if (!c.is_null("vision_config")) return config;
  config.intermediate_size = 4096;
  config.hidden_size = 1024;
  config.patch_size = 14;
  config.image_size = 336;
  config.num_hidden_layers = 24;
  return config;
}

/// AutoModel.from_config(config.text_config), as far as its families share Llama's layers.
DecoderConfig text_config(const Config& c, const ModelOptions& options) {
  constexpr std::array<std::string_view, 3> kTypes{"llama", "mistral", "qwen2"};
  const Config text = c.object("text_config");
  const std::string type = text.text("model_type", kTypes[0]);
  DecoderConfig config = type == kTypes[1]   ? mistral_config(text, options)
                         : type == kTypes[2] ? qwen2_config(text, options)
                                             : llama_config(text, options);
  if (std::find(kTypes.begin(), kTypes.end(), type) == kTypes.end())
    c.fail("text_config.model_type",
           "unknown language model \"" + type + "\", " + suggestion(type, kTypes));
  config.tie_word_embeddings =
      config.tie_word_embeddings || c.boolean("tie_word_embeddings", false);
  return config;
}

/// The layers whose features are joined: one, or a list.
std::int64_t feature_layers(const Config& c) {
  const std::string value = c.json("vision_feature_layer");
  return value.empty() || value.front() != '['
             ? 1
             : static_cast<std::int64_t>(c.integers("vision_feature_layer").size());
}

using Llava = ImageTextToText<LlavaVision, DecoderModel<LlamaParts>>;

}  // namespace

ModelPointer build_llava(const Config& c, const ModelOptions& options) {
  const ClipVisionConfig tower = vision_config(c, options);
  const DecoderConfig text = text_config(c, options);
  const Llava::Settings config{
      .vision = {.tower = tower,
                 .vision_features = tower.hidden_size * feature_layers(c),
                 .text_hidden_size = text.hidden_size,
                 .projector_bias = c.boolean("multimodal_projector_bias", true)},
      .text = text,
      .use_cache = c.object("text_config").boolean("use_cache", true)};
  return build_checked<Llava>(c, config, options);
}

}  // namespace memtape::family
