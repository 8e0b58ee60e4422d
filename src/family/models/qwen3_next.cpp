// SPDX-License-Identifier: Apache-2.0
// Qwen3-Next and the text models of Qwen3.5: layers of Gated DeltaNet, and every fourth with gated
// attention; mirroring transformers 5.17 models/qwen3_next/modeling_qwen3_next.py,
// models/qwen3_5/modeling_qwen3_5.py and models/qwen3_5_moe/modeling_qwen3_5_moe.py.
#include <array>
#include <optional>
#include <tuple>

#include "base/text.h"
#include "family/caches/key_value_cache.h"
#include "family/caches/own_cache.h"
#include "family/facts.h"
#include "family/models/gemma.h"
#include "family/parts/delta_net_layer.h"
#include "family/parts/mamba2_mixer.h"
#include "family/parts/multimodal_rope.h"
#include "family/parts/qwen2_moe_block.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/pointwise.h"

namespace memtape::family {
namespace {

/// Which layers are linear: by layer_types, or all but every fourth.
std::vector<bool> linear_layers(const Config& c, std::int64_t layers) {
  constexpr std::array<std::string_view, 2> kKnown{"linear_attention", "full_attention"};
  const std::vector<std::string> named = c.texts("layer_types");
  const std::int64_t interval = c.dimension("full_attention_interval", 4);
  if (!c.is_null("layer_types") && named.size() < static_cast<std::size_t>(layers))
    c.fail("layer_types", "must name " + std::to_string(layers) + " layers, names " +
                              std::to_string(named.size()));
  std::vector<bool> linear;
  for (std::int64_t i = 0; i < layers; ++i) {
    const auto at = static_cast<std::size_t>(i);
    linear.push_back(at < named.size() ? named[at] == kKnown[0] : (i + 1) % interval != 0);
    if (at < named.size() && named[at] != kKnown[0] && named[at] != kKnown[1])
      c.fail("layer_types", "unknown type \"" + named[at] + "\", " + suggestion(named[at], kKnown));
  }
  return linear;
}

/// What all three have beside the settings of a decoder.
template <class Base>
struct HybridConfig : Base {
  template <class... Defaults>
  HybridConfig(const Config& c, const ModelOptions& options, const Defaults&... defaults)
      : Base(c, options, defaults...),
        linear(linear_layers(c, this->num_hidden_layers)),
        delta_net(c, this->hidden_size, this->hidden_act),
        use_cache(c.boolean("use_cache", true)) {
    this->qkv_bias = this->o_bias = c.boolean("attention_bias", false);
    this->rope = rope_parameters(c, this->head_dim, "partial_rotary_factor", 0.25);
  }
  bool is_linear(std::int64_t layer) const { return linear[static_cast<std::size_t>(layer)]; }

  std::vector<bool> linear;
  GatedDeltaNetConfig delta_net;
  bool use_cache;
};

constexpr DecoderDefaults kDefaults{.vocab_size = 248320,
                                    .intermediate_size = 12288,
                                    .num_hidden_layers = 32,
                                    .num_attention_heads = 16,
                                    .num_key_value_heads = 4,
                                    .head_dim = 256};

struct MoeHybridConfig : HybridConfig<QwenMoeConfig> {
  MoeHybridConfig(const Config& c, const ModelOptions& options, const DecoderDefaults& defaults,
                  const MoeDefaults& moe)
      : HybridConfig(c, options, defaults, moe),
        shared_expert_intermediate_size(c.dimension("shared_expert_intermediate_size", 512)) {
    norm_topk_prob = true;
  }
  std::int64_t shared_expert_intermediate_size;
};

/// Qwen3's attention behind a gate, which the query's projection gives, too.
class GatedAttention : public nn::Module<GatedAttention> {
 public:
  GatedAttention(const nn::Scope& scope, const DecoderConfig& c, std::int64_t)
      : Module(scope),
        call_(attention_call(c)),
        head_dim_(c.head_dim),
        q_proj_(scope / "q_proj", c.hidden_size, c.num_attention_heads * c.head_dim * 2,
                c.qkv_bias),
        k_proj_(scope / "k_proj", c.hidden_size, c.num_key_value_heads * c.head_dim, c.qkv_bias),
        v_proj_(scope / "v_proj", c.hidden_size, c.num_key_value_heads * c.head_dim, c.qkv_bias),
        o_proj_(scope / "o_proj", c.num_attention_heads * c.head_dim, c.hidden_size, c.o_bias),
        q_norm_(scope / "q_norm", c.head_dim),
        k_norm_(scope / "k_norm", c.head_dim) {}

  Tensor forward(const Tensor& hidden_states, const Tensor& attention_mask,
                 const CosSin& position_embeddings) {
    const Dims input_shape = hidden_states.sizes().leading();
    const Dims hidden_shape = input_shape.with(-1).with(head_dim_);
    Tensor query_states, gate;
    {
      std::vector<Tensor> halves =
          q_proj_(hidden_states).view(input_shape.with(-1).with(head_dim_ * 2)).chunk(2, -1);
      query_states = std::move(halves[0]);
      gate = std::move(halves[1]);
    }
    gate = gate.reshape(input_shape.with(-1));
    query_states = q_norm_(query_states.view(hidden_shape)).transpose(1, 2);
    Tensor key_states = k_norm_(k_proj_(hidden_states).view(hidden_shape)).transpose(1, 2);
    Tensor value_states = v_proj_(hidden_states).view(hidden_shape).transpose(1, 2);
    std::tie(query_states, key_states) =
        apply_rotary_pos_emb_to_part(query_states, key_states, position_embeddings);
    KeyValueCache::update(key_states, value_states);
    Tensor attn_output =
        attention_interface(call_, query_states, key_states, value_states, attention_mask);
    attn_output = attn_output.reshape(input_shape.with(-1)).contiguous();
    attn_output = attn_output.mul(ghost::sigmoid(gate));
    return o_proj_(attn_output);
  }

 private:
  AttentionCall call_;
  std::int64_t head_dim_;
  nn::Linear q_proj_, k_proj_, v_proj_, o_proj_;
  GemmaRMSNorm q_norm_, k_norm_;
};

template <class Config, class Mlp>
struct Qwen3NextParts : DecoderParts {
  using Settings = Config;
  using DecoderLayer = DeltaNetDecoderLayer<GatedAttention, Mlp, GemmaRMSNorm>;
  using Norm = GemmaRMSNorm;
  static int layer_kind(const Config& c, std::size_t layer) {
    const auto i = static_cast<std::int64_t>(layer);
    int kind = c.is_linear(i) ? 1 : 0;
    if constexpr (requires { c.has_experts(i); }) kind += c.has_experts(i) ? 2 : 0;
    return kind;
  }
  static LayerMasks make_masks(const Config& c, const Tensor& attention_mask,
                               const Tensor& inputs_embeds, const Tensor& position_ids) {
    LayerMasks masks = create_layer_masks(c, attention_mask, inputs_embeds, position_ids);
    create_recurrent_attention_mask(attention_mask, inputs_embeds.size(1));
    return masks;
  }
};

/// The positions of Qwen3.5 have three axes beside the text's own.
template <class Config, class Mlp>
struct Qwen35Parts : Qwen3NextParts<Config, Mlp> {
  using Rotary = InterleavedRotaryEmbedding;
  static Positions positions(const Tensor& inputs_embeds) {
    return text_and_axes_positions(inputs_embeds);
  }
};

/// The text model's own configuration keeps use_cache.
template <class Base>
class WithCache : public Base {
 public:
  using Settings = typename Base::Settings;
  WithCache(const Settings& c, const ModelOptions& options)
      : Base(c, options), use_cache_(c.use_cache) {}

  ModelOutput forward(const Batch& batch) override {
    const OwnCache past_key_values(use_cache_, this->tree);
    return Base::forward(batch);
  }

 private:
  bool use_cache_;
};

using MoeMlp = MaybeSparseMlp<SharedExpertMoeBlock>;
using Qwen35Config = HybridConfig<DecoderConfig>;

MoeHybridConfig qwen3_5_moe_config(const Config& c, const ModelOptions& options) {
  return MoeHybridConfig(c, options,
                         {.vocab_size = 248320,
                          .hidden_size = 2048,
                          .num_hidden_layers = 40,
                          .num_attention_heads = 16,
                          .num_key_value_heads = 2,
                          .head_dim = 256},
                         {.num_experts = 256, .num_experts_per_tok = 8, .intermediate_size = 512});
}

ModelPointer build_qwen3_next(const Config& c, const ModelOptions& options) {
  MoeHybridConfig config(c, options,
                         {.vocab_size = 151936,
                          .hidden_size = 2048,
                          .intermediate_size = 5632,
                          .num_hidden_layers = 48,
                          .num_attention_heads = 16,
                          .num_key_value_heads = 2,
                          .head_dim = 256},
                         {.num_experts = 512, .num_experts_per_tok = 10, .intermediate_size = 512});
  config.norm_topk_prob = c.boolean("norm_topk_prob", true);
  config.delta_net.joint_projections = true;
  return build_moe<Qwen3NextParts<MoeHybridConfig, MoeMlp>>(c, config, options);
}

ModelPointer build_qwen3_5(const Config& c, const ModelOptions& options) {
  using Model = WithCache<DecoderForCausalLM<Qwen35Parts<Qwen35Config, LlamaMLP>>>;
  return build_checked<Model>(c, Qwen35Config(c.object("text_config"), options, kDefaults),
                              options);
}

ModelPointer build_qwen3_5_moe(const Config& c, const ModelOptions& options) {
  using Model = WithCache<MoeForCausalLM<Qwen35Parts<MoeHybridConfig, MoeMlp>>>;
  return build_checked<Model>(c, qwen3_5_moe_config(c.object("text_config"), options), options);
}

ModelPointer build_qwen3_5_text(const Config& c, const ModelOptions& options) {
  using Model = DecoderForCausalLM<Qwen35Parts<Qwen35Config, LlamaMLP>>;
  return build_checked<Model>(c, Qwen35Config(c, options, kDefaults), options);
}

ModelPointer build_qwen3_5_moe_text(const Config& c, const ModelOptions& options) {
  using Model = MoeForCausalLM<Qwen35Parts<MoeHybridConfig, MoeMlp>>;
  return build_checked<Model>(c, qwen3_5_moe_config(c, options), options);
}

}  // namespace

extern const FamilyFacts kQwen3Next{
    .model_type = "qwen3_next",
    .first = {4, 57, 0},
    .ties_head = Known::no,
    .has_bos = Known::no,
    .modeling = with_scans(kDecoder),
    .classifiers = {.sequences = true, .tokens = true, .answers = true},
    .build = build_qwen3_next};

extern const FamilyFacts kQwen35{.model_type = "qwen3_5",
                                 .first = {5, 2, 0},
                                 .ties_head = Known::no,
                                 .has_bos = Known::no,
                                 .modeling = with_scans(kDecoder),
                                 .build = build_qwen3_5};

extern const FamilyFacts kQwen35Moe{.model_type = "qwen3_5_moe",
                                    .first = {5, 2, 0},
                                    .ties_head = Known::no,
                                    .has_bos = Known::no,
                                    .modeling = with_scans(kDecoder),
                                    .build = build_qwen3_5_moe};

extern const FamilyFacts kQwen35Text{.model_type = "qwen3_5_text",
                                     .first = {5, 2, 0},
                                     .ties_head = Known::no,
                                     .has_bos = Known::no,
                                     .modeling = with_scans(kDecoder),
                                     .classifiers = {.sequences = true},
                                     .build = build_qwen3_5_text};

extern const FamilyFacts kQwen35MoeText{.model_type = "qwen3_5_moe_text",
                                        .first = {5, 2, 0},
                                        .ties_head = Known::no,
                                        .has_bos = Known::no,
                                        .modeling = with_scans(kDecoder),
                                        .build = build_qwen3_5_moe_text};

}  // namespace memtape::family
