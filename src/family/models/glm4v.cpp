// SPDX-License-Identifier: Apache-2.0
// GLM-4.1V, GLM-4.5V, GLM-4.6V and GLM-OCR on text: GLM 4, or GLM 4.5 with its experts, with a rope
// of three axes; mirroring transformers 5.17 models/glm4v/modular_glm4v.py,
// models/glm4v_moe/modular_glm4v_moe.py, models/glm46v/modular_glm46v.py and
// models/glm_ocr/modular_glm_ocr.py.
#include "family/facts.h"
#include "family/models/glm4_moe.h"
#include "family/parts/attention_steps.h"
#include "family/parts/decoder.h"
#include "family/parts/glm4_layer.h"
#include "family/parts/glm_tower.h"
#include "family/parts/image_text_to_text.h"
#include "family/parts/multimodal_rope.h"
#include "family/parts/rotate_pairs.h"
#include "model/type_of.h"

namespace memtape::family {
namespace {

struct Glm4vParts : DecoderParts {
  using DecoderLayer =
      Glm4DecoderLayer<AttentionOf<ProjectedThenRotated<rotate_given_pairs_of_part>>>;
  using Norm = LlamaRMSNorm;
  using Rotary = PairedSectionsRotaryEmbedding;
  /// The masks and the layers are told none.
  static Positions positions(const Tensor& inputs_embeds) {
    return {Tensor(), expanded_positions(inputs_embeds, 3)};
  }
};

struct Glm4vMoeTextConfig : Glm4MoeConfig {
  Glm4vMoeTextConfig(const Config& c, const ModelOptions& options)
      : Glm4MoeConfig(c, options, {.vocab_size = 151424, .attention_bias = true}) {}
};

struct Glm4vMoeParts : Glm4vParts {
  using Settings = Glm4vMoeTextConfig;
  using DecoderLayer =
      PreNormDecoderLayer<AttentionOf<TakenApartThenRotated<apply_rotary_pos_emb_to_part>>,
                          MaybeSparseMlp<DeepseekMoe<DeepseekV3TopkRouter>>>;
  using Rotary = SectionedRotaryEmbedding;
  /// Unlike the dense model's, its layers are told the rope's; the masks are not.
  static Positions positions(const Tensor& inputs_embeds) {
    const Tensor position_ids = expanded_positions(inputs_embeds, 3);
    return {position_ids, position_ids};
  }
  static LayerMasks make_masks(const Settings& c, const Tensor& attention_mask,
                               const Tensor& inputs_embeds, const Tensor&) {
    return create_layer_masks(c, attention_mask, inputs_embeds, {});
  }
};

DecoderConfig glm4v_text_config(const Config& c, const ModelOptions& options) {
  DecoderConfig config(c, options,
                       {.vocab_size = 151552,
                        .intermediate_size = 13696,
                        .num_hidden_layers = 40,
                        .num_key_value_heads = 2});
  config.head_dim = config.hidden_size / config.num_attention_heads;
  config.rope = rope_parameters(c, config.head_dim, "partial_rotary_factor", 1.0);
  config.qkv_bias = true;
  return config;
}

DecoderConfig glm_ocr_text_config(const Config& c, const ModelOptions& options) {
  DecoderConfig config(c, options,
                       {.vocab_size = 59392,
                        .hidden_size = 1024,
                        .intermediate_size = 4096,
                        .num_hidden_layers = 16,
                        .num_attention_heads = 16,
                        .num_key_value_heads = 8});
  config.rope = rope_parameters(c, config.head_dim, "partial_rotary_factor", 1.0);
  return config;
}

template <class Parts>
ModelPointer build_glm_vision(const Config& c, const ModelOptions& options,
                              const typename Parts::Settings& text, GlmTower tower) {
  using Model = ImageTextToText<GlmVisual, DecoderModel<Parts>>;
  const Config text_config = c.object("text_config");
  typename Model::Settings config{.vision = GlmVisionConfig(c.object("vision_config"), tower),
                                  .text = text,
                                  .use_cache = text_config.boolean("use_cache", true)};
  const bool ties_as_text = type_of(c) != "glm46v" && ghost::has(changes::kTextsTieWholes);
  const bool text_ties = text_config.boolean("tie_word_embeddings", false);
  config.text.tie_word_embeddings =
      ties_head(c.boolean("tie_word_embeddings", false) || (ties_as_text && text_ties), text_ties);
  return build_checked<Model>(c, config, options);
}

ModelPointer build_glm4v(const Config& c, const ModelOptions& options) {
  return build_glm_vision<Glm4vParts>(
      c, options, glm4v_text_config(c.object("text_config"), options), GlmTower::glm4v);
}

ModelPointer build_glm4v_moe(const Config& c, const ModelOptions& options) {
  return build_glm_vision<Glm4vMoeParts>(
      c, options, Glm4vMoeTextConfig(c.object("text_config"), options), GlmTower::glm4v);
}

/// Either of the two, by the type of its text.
ModelPointer build_glm46v(const Config& c, const ModelOptions& options) {
  const bool has_experts =
      c.object("text_config").text("model_type", "glm4v_text") == "glm4v_moe_text";
  return has_experts ? build_glm4v_moe(c, options) : build_glm4v(c, options);
}

ModelPointer build_glm_ocr(const Config& c, const ModelOptions& options) {
  return build_glm_vision<Glm4vParts>(
      c, options, glm_ocr_text_config(c.object("text_config"), options), GlmTower::glm_ocr);
}

}  // namespace

extern const FamilyFacts kGlm4v{.model_type = "glm4v",
                                .text_type = "glm4v_text",
                                .task = Task::image_text_to_text,
                                .first = {4, 53, 0},
                                .ties_head = Known::no,
                                .has_bos = Known::no,
                                .modeling = with_multimodal_rope(kDecoder),
                                .build = build_glm4v};

extern const FamilyFacts kGlm4vMoe{.model_type = "glm4v_moe",
                                   .text_type = "glm4v_moe_text",
                                   .task = Task::image_text_to_text,
                                   .first = {4, 56, 0},
                                   .ties_head = Known::no,
                                   .has_bos = Known::no,
                                   .modeling = with_multimodal_rope(kDecoder),
                                   .build = build_glm4v_moe};

extern const FamilyFacts kGlm46v{.model_type = "glm46v",
                                 .task = Task::image_text_to_text,
                                 .first = {5, 0, 0},
                                 .ties_head = Known::no,
                                 .has_bos = Known::no,
                                 .modeling = with_multimodal_rope(kDecoder),
                                 .build = build_glm46v};

extern const FamilyFacts kGlmOcr{.model_type = "glm_ocr",
                                 .text_type = "glm_ocr_text",
                                 .task = Task::image_text_to_text,
                                 .first = {5, 1, 0},
                                 .ties_head = Known::no,
                                 .has_bos = Known::no,
                                 .modeling = with_multimodal_rope(kDecoder),
                                 .build = build_glm_ocr};

}  // namespace memtape::family
