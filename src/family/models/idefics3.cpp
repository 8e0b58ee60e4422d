// SPDX-License-Identifier: Apache-2.0
// Idefics 3 and SmolVLM: a tower like SigLIP's, one projection of neighbouring patches, and a
// language model; mirroring transformers 5.17 models/idefics3/modeling_idefics3.py and
// models/smolvlm/modeling_smolvlm.py.
#include "family/facts.h"
#include "family/parts/config_checks.h"
#include "family/parts/image_text_to_text.h"
#include "family/parts/siglip_tower.h"
#include "family/parts/text_model.h"

namespace memtape::family {
namespace {

/// Idefics3VisionTransformer: the tower without position ids and without a head.
class Idefics3VisionTransformer {
 public:
  Idefics3VisionTransformer(const nn::Scope& scope, const SiglipVisionConfig& c)
      : embeddings_(scope / "embeddings"),
        patch_embedding_(embeddings_ / "patch_embedding",
                         Dims{c.hidden_size, c.num_channels, c.patch_size, c.patch_size}, true),
        position_embedding_(embeddings_ / "position_embedding", c.num_positions(), c.hidden_size),
        encoder_(scope / "encoder", c),
        post_layernorm_(scope / "post_layernorm", c.hidden_size) {}

 private:
  nn::Scope embeddings_;
  nn::Convolution patch_embedding_;
  nn::Embedding position_embedding_;
  ClipEncoder encoder_;
  nn::LayerNorm post_layernorm_;
};

/// vision_model and connector of Idefics3Model.
class Idefics3Vision {
 public:
  static constexpr const char* kLanguageModel = "text_model";
  struct Settings {
    SiglipVisionConfig tower;
    std::int64_t scale_factor, text_hidden_size;
  };

  Idefics3Vision(const nn::Scope& scope, const Settings& c)
      : vision_model_(scope / "vision_model", c.tower),
        proj_(scope / "connector" / "modality_projection" / "proj",
              c.tower.hidden_size * c.scale_factor * c.scale_factor, c.text_hidden_size, false) {}

 private:
  Idefics3VisionTransformer vision_model_;
  nn::Linear proj_;
};

/// Idefics3VisionConfig's defaults.
SiglipVisionConfig siglip_vision_config(const Config& c, const ModelOptions& options) {
  const Config vision = c.object("vision_config");
  SiglipVisionConfig config(vision, options);
  config.hidden_size = vision.dimension("hidden_size", 1152);
  config.num_attention_heads = vision.dimension("num_attention_heads", 16);
  config.patch_size = vision.dimension("patch_size", 32);
  check_divides(vision, "num_attention_heads", config.num_attention_heads, config.hidden_size);
  return config;
}

ModelPointer build_idefics3(const Config& c, const ModelOptions& options) {
  return with_text_model(c, options, "llama", [&]<class Parts>(DecoderConfig text) {
    using Idefics3 = ImageTextToText<Idefics3Vision, DecoderModel<Parts>>;
    text.tie_word_embeddings =
        ties_head(c.boolean("tie_word_embeddings", false), text.tie_word_embeddings);
    const typename Idefics3::Settings config{
        .vision = {.tower = siglip_vision_config(c, options),
                   .scale_factor = c.dimension("scale_factor", 2),
                   .text_hidden_size = text.hidden_size},
        .text = text,
        // Handed on, it is the whole configuration's, which training unsets.
        .use_cache = ghost::has(changes::kIdefics3HandsNoUseCache) &&
                     !ghost::has(changes::kIdefics3HandsUseCacheOn) &&
                     c.object("text_config").boolean("use_cache", true)};
    return build_checked<Idefics3>(c, config, options);
  });
}

}  // namespace

extern const FamilyFacts kIdefics3{.model_type = "idefics3",
                                   .task = Task::image_text_to_text,
                                   .first = {4, 46, 0},
                                   .ties_head = Known::no,
                                   .has_bos = Known::yes,
                                   .modeling = kDecoder,
                                   .build = build_idefics3};

extern const FamilyFacts kSmolvlm{.model_type = "smolvlm",
                                  .task = Task::image_text_to_text,
                                  .first = {4, 50, 0},
                                  .ties_head = Known::no,
                                  .has_bos = Known::yes,
                                  .modeling = kDecoder,
                                  .build = build_idefics3};

}  // namespace memtape::family
