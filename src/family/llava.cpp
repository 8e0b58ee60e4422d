// SPDX-License-Identifier: Apache-2.0
// LLaVA and LLaVA-NeXT: a vision tower, a projector of two layers, and a language model of its own
// family; mirroring transformers 5.17 models/llava/modeling_llava.py and
// models/llava_next/modeling_llava_next.py.
#include <array>

#include "base/text.h"
#include "family/families.h"
#include "family/image_text_to_text.h"
#include "family/image_tower.h"
#include "family/llama.h"

namespace memtape::family {
namespace {

/// vision_tower and multi_modal_projector of LlavaModel, and what LlavaNextModel puts at the end of
/// a row of patches.
class LlavaVision {
 public:
  struct Settings {
    ImageTower::Settings tower;
    std::int64_t vision_features, text_hidden_size;
    bool projector_bias, has_image_newline;
  };

  LlavaVision(const nn::Scope& scope, const Settings& c)
      : vision_tower_(scope / "vision_tower", c.tower),
        multi_modal_projector_(scope / "multi_modal_projector"),
        linear_1_(multi_modal_projector_ / "linear_1", c.vision_features, c.text_hidden_size,
                  c.projector_bias),
        linear_2_(multi_modal_projector_ / "linear_2", c.text_hidden_size, c.text_hidden_size,
                  c.projector_bias),
        image_newline_(c.has_image_newline ? scope.parameter("image_newline", {c.text_hidden_size})
                                           : Tensor()) {}

 private:
  ImageTower vision_tower_;
  nn::Scope multi_modal_projector_;
  nn::Linear linear_1_, linear_2_;
  Tensor image_newline_;
};

/// The configuration of the tower of LLaVA 1.5 where there is none.
ImageTower::Settings vision_config(const Config& c, const ModelOptions& options) {
  if (!c.is_null("vision_config")) return image_tower_settings(c, options, "clip_vision_model");
  ClipVisionConfig config(c.object("vision_config"), options);
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

using Llava = ImageTextToText<LlavaVision, DecoderModel<LlamaParts>>;

ModelPointer build(const Config& c, const ModelOptions& options, bool has_image_newline) {
  const ImageTower::Settings tower = vision_config(c, options);
  const DecoderConfig text = text_config(c, options);
  const Llava::Settings config{
      .vision = {.tower = tower,
                 .vision_features = hidden_size(tower) * vision_feature_layers(c),
                 .text_hidden_size = text.hidden_size,
                 .projector_bias = c.boolean("multimodal_projector_bias", true),
                 .has_image_newline = has_image_newline},
      .text = text,
      // LlavaNextModel hands its own configuration's on, which training unsets.
      .use_cache = !has_image_newline && c.object("text_config").boolean("use_cache", true)};
  return build_checked<Llava>(c, config, options);
}

}  // namespace

ModelPointer build_llava(const Config& c, const ModelOptions& options) {
  return build(c, options, false);
}

ModelPointer build_llava_next(const Config& c, const ModelOptions& options) {
  return build(c, options, true);
}

}  // namespace memtape::family
