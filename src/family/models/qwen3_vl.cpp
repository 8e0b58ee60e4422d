// SPDX-License-Identifier: Apache-2.0
// Qwen3-VL and its mixture of experts on text: Qwen3 with a rope of three axes; mirroring
// transformers 5.17 models/qwen3_vl/modeling_qwen3_vl.py and
// models/qwen3_vl_moe/modeling_qwen3_vl_moe.py.
#include <tuple>

#include "family/facts.h"
#include "family/models/qwen3_moe.h"
#include "family/parts/experts_by_index.h"
#include "family/parts/qwen3_attention.h"
#include "family/parts/qwen_vl.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"
#include "ghost/ops/sorting.h"
#include "nn/layer_frame.h"
#include "release/transformers_changes.h"

namespace memtape::family {
namespace {

template <class Config, class Mlp>
struct Qwen3VLParts : DecoderParts {
  using Settings = Config;
  using DecoderLayer = PreNormDecoderLayer<Qwen3Attention, Mlp>;
  using Norm = LlamaRMSNorm;
  using Rotary = InterleavedRotaryEmbedding;
  static Positions positions(const Tensor& inputs_embeds) {
    return text_and_axes_positions(inputs_embeds);
  }
};

struct Qwen3VLTextConfig : DecoderConfig {
  Qwen3VLTextConfig(const Config& c, const ModelOptions& options)
      : DecoderConfig(c, options,
                      {.vocab_size = 151936,
                       .intermediate_size = 22016,
                       .num_key_value_heads = 32,
                       .head_dim = 128}) {
    qkv_bias = o_bias = c.boolean("attention_bias", false);
  }
};

struct Qwen3VLMoeTextConfig : QwenMoeConfig {
  Qwen3VLMoeTextConfig(const Config& c, const ModelOptions& options)
      : QwenMoeConfig(c, options,
                      {.vocab_size = 151936,
                       .hidden_size = 2048,
                       .intermediate_size = 5632,
                       .num_hidden_layers = 24,
                       .num_attention_heads = 16,
                       .num_key_value_heads = 16},
                      {.num_experts = 60, .num_experts_per_tok = 4, .intermediate_size = 1408}) {
    qkv_bias = o_bias = c.boolean("attention_bias", false);
    norm_topk_prob = true;
    loop.reset();  // Qwen3VLMoeTextExperts were tensors from the start
  }
};

/// Qwen3VLMoeTextSparseMoeBlock of transformers 4.57. The layer keeps the logits beside the hidden
/// states until it returns.
class EarlyMoeBlock : public nn::Module<EarlyMoeBlock> {
 public:
  EarlyMoeBlock(const nn::Scope& scope, const Qwen3VLMoeTextConfig& c)
      : Module(scope),
        top_k_(c.num_experts_per_tok),
        gate_(scope / "gate", c.hidden_size, c.num_experts, false),
        experts_(scope / "experts", c, {}) {}

  Tensor forward(const Tensor& x) {
    const Tensor hidden_states = x.reshape({-1, x.size(-1)});
    const Tensor router_logits = gate_(hidden_states);
    Tensor routing_weights = ghost::softmax(router_logits, DType::float32);
    Tensor router_indices;
    std::tie(routing_weights, router_indices) = ghost::topk(routing_weights, top_k_);
    routing_weights = routing_weights.div(routing_weights.sum(-1, true));
    routing_weights = routing_weights.to(x.dtype());
    const Tensor router_weights =
        spread_over_experts(router_logits, router_indices, routing_weights);
    Tensor routed_out = experts_(x, router_indices, router_weights);
    nn::LayerFrame::keep_attention_weights(router_logits);
    return routed_out;
  }

 private:
  std::int64_t top_k_;
  nn::Linear gate_;
  ExpertsByIndex experts_;
};

template <class TextConfig, class Mlp>
ModelPointer build_qwen3_vl_of(const Config& c, const ModelOptions& options) {
  using Model = ImageTextToText<QwenVisual, DecoderModel<Qwen3VLParts<TextConfig, Mlp>>>;
  const Config text = c.object("text_config");
  typename Model::Settings config{
      .vision = QwenVisionConfig(c.object("vision_config"), QwenTower::qwen3_vl),
      .text = TextConfig(text, options),
      .use_cache = text.boolean("use_cache", true)};
  config.text.tie_word_embeddings =
      ties_head(c.boolean("tie_word_embeddings", false), config.text.tie_word_embeddings);
  return build_checked<Model>(c, config, options);
}

ModelPointer build_qwen3_vl(const Config& c, const ModelOptions& options) {
  return build_qwen3_vl_of<Qwen3VLTextConfig, LlamaMLP>(c, options);
}

ModelPointer build_qwen3_vl_moe(const Config& c, const ModelOptions& options) {
  return ghost::has(changes::kExpertsAreStacked)
             ? build_qwen3_vl_of<Qwen3VLMoeTextConfig, MaybeSparseMlp<Qwen3MoeSparseMoeBlock>>(
                   c, options)
             : build_qwen3_vl_of<Qwen3VLMoeTextConfig, MaybeSparseMlp<EarlyMoeBlock>>(c, options);
}

}  // namespace

extern const FamilyFacts kQwen3Vl{.model_type = "qwen3_vl",
                                  .text_type = "qwen3_vl_text",
                                  .task = Task::image_text_to_text,
                                  .first = {4, 57, 0},
                                  .ties_head = Known::no,
                                  .has_bos = Known::no,
                                  .modeling = with_multimodal_rope(kDecoder),
                                  .build = build_qwen3_vl};

extern const FamilyFacts kQwen3VlMoe{.model_type = "qwen3_vl_moe",
                                     .text_type = "qwen3_vl_moe_text",
                                     .task = Task::image_text_to_text,
                                     .first = {4, 57, 0},
                                     .ties_head = Known::no,
                                     .has_bos = Known::no,
                                     .modeling = with_multimodal_rope(kDecoder),
                                     .build = build_qwen3_vl_moe};

}  // namespace memtape::family
