// SPDX-License-Identifier: Apache-2.0
// Qwen2-VL and Qwen2.5-VL on text: Qwen2 with a rope of three axes; mirroring transformers 5.17
// models/qwen2_vl/modeling_qwen2_vl.py and models/qwen2_5_vl/modeling_qwen2_5_vl.py.
#include "family/facts.h"
#include "family/parts/llama_layer.h"
#include "family/parts/qwen_vl.h"
#include "ghost/ops/creation.h"
#include "ghost/session.h"
#include "release/multimodal_changes.h"
#include "release/transformers_4_changes.h"

namespace memtape::family {
namespace {

/// apply_multimodal_rotary_pos_emb, which joins the sections of cos and sin for itself.
std::pair<Tensor, Tensor> apply_multimodal_rotary_pos_emb(const Tensor& q, const Tensor& k,
                                                          const CosSin& cos_sin) {
  if (ghost::has(changes::kRopesRecomposeFrequencies)) return apply_rotary_pos_emb(q, k, cos_sin);
  const Tensor cos = joined_sections(cos_sin.first);
  return apply_rotary_pos_emb(q, k, {cos, joined_sections(cos_sin.second)});
}

/// With a rotary embedding in each attention, where no one calls it.
struct Qwen2VLSteps : ProjectedThenRotated<apply_multimodal_rotary_pos_emb> {
  static constexpr const Change& kInterfaceSince = changes::kQwenVlCallsTheInterface;
  Qwen2VLSteps(const nn::Scope& scope, const DecoderConfig& c, std::int64_t layer)
      : ProjectedThenRotated(scope, c, layer) {
    if (!ghost::has(changes::kAllRopesAreShared)) rotary_emb.emplace(scope / "rotary_emb", c.rope);
  }
  std::optional<RotaryEmbedding> rotary_emb;
};

/// The rope, and beside it self.rope_deltas of text: zeros [B, 1] until the next forward.
class Qwen2VLRotaryEmbedding : public LateSectionsRotaryEmbedding {
 public:
  Qwen2VLRotaryEmbedding(const nn::Scope& scope, const RopeParameters& rope)
      : LateSectionsRotaryEmbedding(scope, rope) {}
  /// get_rope_index of text.
  void count(const Tensor& position_ids) {
    if (ghost::has(changes::kQwenVlKeepsRopeDeltas) && !ghost::has(changes::kTextHasNoRopeDeltas))
      rope_deltas_ = ghost::zeros({position_ids.size(1), 1}, DType::int64);
  }

 private:
  Tensor rope_deltas_;
};

struct Qwen2VLParts : DecoderParts {
  using DecoderLayer = PreNormDecoderLayer<AttentionOf<Qwen2VLSteps>>;
  using Norm = LlamaRMSNorm;
  using Rotary = Qwen2VLRotaryEmbedding;
  /// The masks and the layers are told none. A cache_position that the model makes beside them
  /// lives as long.
  static Positions positions(const Tensor& inputs_embeds, Rotary& rotary_emb) {
    Positions positions{Tensor(), expanded_positions(inputs_embeds, 3)};
    rotary_emb.count(positions.rotary);
    if (!ghost::has(changes::kCachePositionsAreGone))
      positions.text = ghost::arange(inputs_embeds.size(1), DType::int64);
    return positions;
  }
  static LayerMasks make_masks(const DecoderConfig& c, const Tensor& attention_mask,
                               const Tensor& inputs_embeds, const Tensor&) {
    return create_layer_masks(c, attention_mask, inputs_embeds, {});
  }
};

DecoderConfig text_config(const Config& c, const ModelOptions& options) {
  DecoderConfig config(c, options,
                       {.vocab_size = 152064,
                        .hidden_size = 8192,
                        .intermediate_size = 29568,
                        .num_hidden_layers = 80,
                        .num_attention_heads = 64,
                        .num_key_value_heads = 8});
  config.qkv_bias = true;
  read_max_window_layers(c, config, 80);
  return config;
}

/// Whether the text model makes a cache where training has turned the outer use_cache off.
bool text_caches(const Config& text) {
  const bool forwards =
      ghost::has(changes::kQwenVlForwardsSettings) && !ghost::has(changes::kQwenVlTextIsItsOwn);
  return ghost::has(changes::kQwenVlHasTextConfig) && !forwards && text.boolean("use_cache", true);
}

using Qwen2VL = ImageTextToText<QwenVisual, DecoderModel<Qwen2VLParts>>;

ModelPointer build_with_tower(const Config& c, const ModelOptions& options, QwenTower tower) {
  const Config text = qwen_text_config(c);
  Qwen2VL::Settings config{.vision = QwenVisionConfig(c.object("vision_config"), tower),
                           .text = text_config(text, options),
                           .use_cache = text_caches(text)};
  config.text.tie_word_embeddings =
      ties_head(c.boolean("tie_word_embeddings", false) ||
                    (ghost::has(changes::kTextsTieWholes) && config.text.tie_word_embeddings),
                config.text.tie_word_embeddings);
  return build_checked<Qwen2VL>(c, config, options);
}

ModelPointer build_qwen2_vl(const Config& c, const ModelOptions& options) {
  return build_with_tower(c, options, QwenTower::qwen2_vl);
}

ModelPointer build_qwen2_5_vl(const Config& c, const ModelOptions& options) {
  return build_with_tower(c, options, QwenTower::qwen2_5_vl);
}

}  // namespace

extern const FamilyFacts kQwen2Vl{.model_type = "qwen2_vl",
                                  .text_type = "qwen2_vl_text",
                                  .task = Task::image_text_to_text,
                                  .ties_head = Known::no,
                                  .has_bos = Known::yes,
                                  .modeling = with_multimodal_rope(kDecoder),
                                  .build = build_qwen2_vl};

extern const FamilyFacts kQwen25Vl{.model_type = "qwen2_5_vl",
                                   .text_type = "qwen2_5_vl_text",
                                   .task = Task::image_text_to_text,
                                   .first = {4, 49, 0},
                                   .ties_head = Known::no,
                                   .has_bos = Known::yes,
                                   .modeling = with_multimodal_rope(kDecoder),
                                   .build = build_qwen2_5_vl};

}  // namespace memtape::family
