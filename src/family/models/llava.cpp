// SPDX-License-Identifier: Apache-2.0
// LLaVA, LLaVA-NeXT, LLaVA-NeXT-Video, LLaVA-OneVision and ViP-LLaVA: a vision tower, a projector
// of two layers, and a language model of its own family; mirroring transformers 5.17
// models/llava/modeling_llava.py, models/llava_next/modeling_llava_next.py,
// models/llava_next_video/modeling_llava_next_video.py,
// models/llava_onevision/modeling_llava_onevision.py and models/vipllava/modeling_vipllava.py.
#include <optional>
#include <string_view>

#include "family/facts.h"
#include "family/parts/image_text_to_text.h"
#include "family/parts/image_tower.h"
#include "family/parts/text_model.h"
#include "release/multimodal_changes.h"

namespace memtape::family {
namespace {

/// vision_tower and multi_modal_projector of LlavaModel, and what the later models put at the end
/// of a row of patches.
class LlavaVision {
 public:
  struct Settings {
    ImageTower::Settings tower;
    std::int64_t vision_features, text_hidden_size;
    bool projector_norm, projector_bias, has_image_newline;
  };

  LlavaVision(const nn::Scope& scope, const Settings& c)
      : vision_tower_(scope / "vision_tower", c.tower),
        multi_modal_projector_(scope / "multi_modal_projector"),
        projector_layernorm_(c.projector_norm ? std::optional<nn::LayerNorm>(
                                                    std::in_place,
                                                    multi_modal_projector_ / "projector_layernorm",
                                                    c.vision_features)
                                              : std::nullopt),
        linear_1_(multi_modal_projector_ / "linear_1", c.vision_features, c.text_hidden_size,
                  c.projector_bias),
        linear_2_(multi_modal_projector_ / "linear_2", c.text_hidden_size, c.text_hidden_size,
                  c.projector_bias),
        image_newline_(c.has_image_newline ? scope.parameter("image_newline", {c.text_hidden_size})
                                           : Tensor()) {}

 private:
  ImageTower vision_tower_;
  nn::Scope multi_modal_projector_;
  std::optional<nn::LayerNorm> projector_layernorm_;
  nn::Linear linear_1_, linear_2_;
  Tensor image_newline_;
};

/// The configuration of the tower of LLaVA 1.5 where there is none.
ImageTower::Settings tower_settings(const Config& c, const ModelOptions& options,
                                    std::string_view otherwise) {
  if (!c.is_null("vision_config")) return image_tower_settings(c, options, otherwise);
  if (otherwise != "clip_vision_model") c.fail("vision_config", "must be given");
  ClipVisionConfig config(c.object("vision_config"), options);
  config.intermediate_size = 4096;
  config.hidden_size = 1024;
  config.patch_size = 14;
  config.image_size = 336;
  config.num_hidden_layers = 24;
  return config;
}

/// What the models differ in.
struct LlavaKind {
  std::string_view tower, text;  ///< where their configurations name none
  bool has_image_newline;        ///< then it hands its use_cache on, too
  bool ties_as_text = true;      ///< where the text's configuration says so
  bool projector_norm = false;
  const char* feature_layers_key = "vision_feature_layer";
  std::int64_t feature_layers = 1;
};

ModelPointer build_llava_of(const Config& c, const ModelOptions& options, const LlavaKind& kind) {
  return with_text_model(c, options, kind.text, [&]<class Parts>(DecoderConfig text) {
    using Llava = ImageTextToText<LlavaVision, DecoderModel<Parts>>;
    const ImageTower::Settings tower = tower_settings(c, options, kind.tower);
    text.tie_word_embeddings = ties_head(
        c.boolean("tie_word_embeddings", false) || (kind.ties_as_text && text.tie_word_embeddings),
        text.tie_word_embeddings);
    const std::int64_t feature_layers = c.has(kind.feature_layers_key)
                                            ? vision_feature_layers(c, kind.feature_layers_key)
                                            : kind.feature_layers;
    const typename Llava::Settings config{
        .vision = {.tower = tower,
                   .vision_features = hidden_size(tower) * feature_layers,
                   .text_hidden_size = text.hidden_size,
                   .projector_norm = kind.projector_norm,
                   .projector_bias = c.boolean("multimodal_projector_bias", true),
                   .has_image_newline = kind.has_image_newline},
        .text = text,
        // Handed on, it is the whole configuration's, which training unsets.
        .use_cache = !(kind.has_image_newline && ghost::has(changes::kLlavasHandUseCacheOn)) &&
                     c.object("text_config").boolean("use_cache", true)};
    return build_checked<Llava>(c, config, options);
  });
}

ModelPointer build_llava(const Config& c, const ModelOptions& options) {
  return build_llava_of(c, options, {"clip_vision_model", "llama", false});
}

ModelPointer build_llava_next(const Config& c, const ModelOptions& options) {
  return build_llava_of(c, options, {"clip_vision_model", "llama", true, false});
}

ModelPointer build_llava_next_video(const Config& c, const ModelOptions& options) {
  if (c.text("spatial_pool_mode", "average") == "conv")
    c.fail("spatial_pool_mode", "a convolution is not modelled, use average or max");
  return build_llava_of(c, options, {"clip_vision_model", "llama", true});
}

ModelPointer build_vipllava(const Config& c, const ModelOptions& options) {
  return build_llava_of(c, options,
                        {.tower = "clip_vision_model",
                         .text = "llama",
                         .has_image_newline = false,
                         .ties_as_text = false,
                         .projector_norm = true,
                         .feature_layers_key = "vision_feature_layers",
                         .feature_layers = 5});
}

ModelPointer build_llava_onevision(const Config& c, const ModelOptions& options) {
  return build_llava_of(c, options, {"siglip_vision_model", "qwen2", true});
}

}  // namespace

extern const FamilyFacts kLlava{.model_type = "llava",
                                .task = Task::image_text_to_text,
                                .ties_head = Known::no,
                                .has_bos = Known::yes,
                                .modeling = kDecoder,
                                .build = build_llava};

extern const FamilyFacts kLlavaNext{.model_type = "llava_next",
                                    .task = Task::image_text_to_text,
                                    .ties_head = Known::no,
                                    .has_bos = Known::yes,
                                    .modeling = kDecoder,
                                    .build = build_llava_next};

extern const FamilyFacts kLlavaNextVideo{.model_type = "llava_next_video",
                                         .task = Task::image_text_to_text,
                                         .ties_head = Known::no,
                                         .has_bos = Known::yes,
                                         .modeling = kDecoder,
                                         .build = build_llava_next_video};

extern const FamilyFacts kVipllava{.model_type = "vipllava",
                                   .task = Task::image_text_to_text,
                                   .ties_head = Known::no,
                                   .has_bos = Known::yes,
                                   .modeling = kDecoder,
                                   .build = build_vipllava};

extern const FamilyFacts kLlavaOnevision{.model_type = "llava_onevision",
                                         .task = Task::image_text_to_text,
                                         .ties_head = Known::no,
                                         .has_bos = Known::no,
                                         .modeling = kDecoder,
                                         .build = build_llava_onevision};

}  // namespace memtape::family
