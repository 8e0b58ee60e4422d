// SPDX-License-Identifier: Apache-2.0
// Gemma 3, alone and beside a vision tower: Gemma 2 with norms on the heads of q and k, a rope for
// each layer type, and five sliding layers to one that sees all; mirroring transformers 5.17
// models/gemma3/modular_gemma3.py.
#include <tuple>

#include "family/facts.h"
#include "family/models/gemma.h"
#include "family/parts/decoder.h"
#include "family/parts/image_text_to_text.h"
#include "family/parts/siglip_tower.h"
#include "ghost/session.h"
#include "release/transformers_4_changes.h"

namespace memtape::family {
namespace {

struct Gemma3TextConfig : Gemma2Config {
  Gemma3TextConfig(const Config& c, const ModelOptions& options)
      : Gemma2Config(c, options, {.vocab_size = 262208}) {
    layer_types = read_layer_types(c, num_hidden_layers,
                                   [](std::int64_t) { return LayerType::full_attention; });
    const std::int64_t pattern = c.dimension("sliding_window_pattern", 6);
    if (c.is_null("layer_types"))
      for (std::int64_t i = 0; i < num_hidden_layers; ++i)
        if ((i + 1) % pattern != 0)
          layer_types[static_cast<std::size_t>(i)] = LayerType::sliding_attention;
    check_sliding_window(c, *this);
    refuse_bidirectional_attention(c);
    ropes = layer_ropes(c, head_dim, layer_types);
  }
  LayerRopes ropes;
};

struct Gemma3Steps {
  Gemma3Steps(const nn::Scope& scope, const DecoderConfig& c, std::int64_t) : norms(scope, c) {}
  void operator()(Tensor& q, Tensor& k, const CosSin& cos_sin) {
    norms(q, k);
    std::tie(q, k) = apply_rotary_pos_emb(q, k, cos_sin);
  }
  HeadNorms<GemmaRMSNorm> norms;
};

struct Gemma3Parts : DecoderParts {
  using Settings = Gemma3TextConfig;
  using DecoderLayer = Gemma2DecoderLayer<AttentionOf<Gemma3Steps>>;
  using Norm = GemmaRMSNorm;
  using Embedding = GemmaTextScaledWordEmbedding;
  using Rotary = LayerTypeRotaryEmbedding;
  static const LayerRopes& rope(const Gemma3TextConfig& c) { return c.ropes; }
  static LayerMasks make_masks(const DecoderConfig& c, const Tensor& attention_mask,
                               const Tensor& inputs_embeds, const Tensor& position_ids) {
    return gemma2_masks(c, attention_mask, inputs_embeds, position_ids);
  }
  static void cap_logits(Tensor& logits, const Gemma3TextConfig& c) {
    softcap_logits(logits, c.final_logit_softcapping);
  }
};

struct Gemma3ImageTextParts : Gemma3Parts {
  static LayerMasks make_masks(const DecoderConfig& c, const Tensor& attention_mask,
                               const Tensor& inputs_embeds, const Tensor& position_ids) {
    const bool knows_positions = !ghost::has(changes::kMasksAreShared);
    return gemma2_masks(c, attention_mask, inputs_embeds, knows_positions ? position_ids : Tensor(),
                        true);
  }
  /// In transformers 4 Gemma3Model.forward counted the cache's positions before it made masks.
  static bool masks_come_first() { return ghost::has(changes::kMaskIndicesBroadcast); }
};

/// vision_tower and multi_modal_projector of Gemma3Model.
class Gemma3Vision {
 public:
  struct Settings {
    SiglipVisionConfig tower;
    std::int64_t text_hidden_size;
  };

  Gemma3Vision(const nn::Scope& scope, const Settings& c)
      : vision_tower_(scope / "vision_tower", c.tower),
        multi_modal_projector_(scope / "multi_modal_projector"),
        mm_input_projection_weight_(multi_modal_projector_.parameter(
            "mm_input_projection_weight", {c.tower.hidden_size, c.text_hidden_size})),
        mm_soft_emb_norm_(multi_modal_projector_ / "mm_soft_emb_norm", c.tower.hidden_size) {}

 private:
  SiglipVisionTower vision_tower_;
  nn::Scope multi_modal_projector_;
  Tensor mm_input_projection_weight_;
  GemmaRMSNorm mm_soft_emb_norm_;
};

using Gemma3 = ImageTextToText<Gemma3Vision, DecoderModel<Gemma3ImageTextParts>>;

ModelPointer build_gemma3(const Config& c, const ModelOptions& options) {
  const Config text = c.object("text_config");
  const SiglipVisionConfig tower(c.object("vision_config"), options);
  Gemma3::Settings config{
      .vision = {.tower = tower, .text_hidden_size = 0},
      .text = Gemma3TextConfig(text, options),
      .use_cache = ghost::has(changes::kGemma2CachesInTraining) && text.boolean("use_cache", true)};
  config.vision.text_hidden_size = config.text.hidden_size;
  config.text.tie_word_embeddings =
      ties_head(c.boolean("tie_word_embeddings", true), config.text.tie_word_embeddings);
  config.replaces_image_token =
      c.integer({"image_token_id", "image_token_index"}, 262144) >= config.text.vocab_size;
  return build_checked<Gemma3>(c, config, options);
}

ModelPointer build_gemma3_text(const Config& c, const ModelOptions& options) {
  return build_checked<DecoderForCausalLM<Gemma3Parts>>(c, Gemma3TextConfig(c, options), options);
}

}  // namespace

extern const FamilyFacts kGemma3{.model_type = "gemma3",
                                 .task = Task::image_text_to_text,
                                 .first = {4, 50, 0},
                                 .ties_head = Known::yes,
                                 .has_bos = Known::yes,
                                 .modeling = kDecoder,
                                 .build = build_gemma3};

extern const FamilyFacts kGemma3Text{.model_type = "gemma3_text",
                                     .first = {4, 50, 0},
                                     .ties_head = Known::yes,
                                     .has_bos = Known::yes,
                                     .modeling = kDecoder,
                                     .classifiers = {.sequences = true},
                                     .build = build_gemma3_text};

}  // namespace memtape::family
