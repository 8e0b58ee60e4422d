// SPDX-License-Identifier: Apache-2.0
// Llama 4, text only: layers without rotation that see everything between layers that see chunks,
// heads of q and k brought to length one, and experts that each compute on all tokens, weighted by
// sigmoid scores; mirroring transformers 5.17 models/llama4/modeling_llama4.py.
#include <algorithm>
#include <optional>
#include <tuple>
#include <vector>

#include "family/caches/key_value_cache.h"
#include "family/caches/own_cache.h"
#include "family/facts.h"
#include "family/parts/decoder.h"
#include "family/parts/experts.h"
#include "family/parts/llama_layer.h"
#include "family/parts/qwen2_moe_block.h"
#include "family/parts/rms_norms.h"
#include "ghost/ops/complex.h"
#include "ghost/ops/copies.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/indexing.h"
#include "ghost/ops/logarithms.h"
#include "ghost/ops/matmul.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/sorting.h"
#include "ghost/ops/unary.h"
#include "nn/layer_frame.h"

namespace memtape::family {
namespace {

struct Llama4TextConfig : MoeConfig {
  Llama4TextConfig(const Config& c, const ModelOptions& options)
      : MoeConfig(c, options,
                  {.vocab_size = 202048,
                   .hidden_size = 5120,
                   .intermediate_size = 8192,
                   .num_hidden_layers = 48,
                   .num_attention_heads = 40,
                   .num_key_value_heads = 8,
                   .head_dim = 128},
                  {.experts_key = "num_local_experts",
                   .num_experts = 16,
                   .num_experts_per_tok = 1,
                   .intermediate_key = "intermediate_size",
                   .intermediate_size = 8192}),
        intermediate_size_mlp(c.dimension("intermediate_size_mlp", 16384)),
        use_qk_norm(c.boolean("use_qk_norm", true)),
        attn_temperature_tuning(c.boolean("attn_temperature_tuning", true)),
        no_rope_layers(c.integers("no_rope_layers")),
        moe_layers(c.integers("moe_layers")) {
    qkv_bias = o_bias = c.boolean("attention_bias", false);
    rope.is_complex = true;
    sliding_window =
        c.has("attention_chunk_size") ? c.optional_dimension("attention_chunk_size") : 8192;
    if (!sliding_window)
      c.fail("attention_chunk_size", "is null, but the model makes a chunked mask");
    read_rotated_layers(c);
    read_moe_layers(c);
  }
  std::int64_t intermediate_size_mlp;
  bool use_qk_norm, attn_temperature_tuning;
  bool use_cache = false;
  std::vector<std::int64_t> no_rope_layers;  ///< 1 where a layer rotates (the name is theirs)
  std::vector<std::int64_t> moe_layers;

  bool has_experts(std::int64_t layer) const {
    return std::find(moe_layers.begin(), moe_layers.end(), layer) != moe_layers.end();
  }
  bool rotates(std::int64_t layer) const {
    return no_rope_layers[static_cast<std::size_t>(layer)] != 0;
  }

 private:
  /// Layers that rotate see chunks, unless the configuration says otherwise.
  void read_rotated_layers(const Config& c) {
    const std::int64_t interval = c.dimension("no_rope_layer_interval", 4);
    if (no_rope_layers.empty())
      for (std::int64_t i = 0; i < num_hidden_layers; ++i)
        no_rope_layers.push_back((i + 1) % interval != 0);
    const auto layers = static_cast<std::size_t>(num_hidden_layers);
    if (no_rope_layers.size() < layers) {
      c.fail("no_rope_layers", "must name " + std::to_string(layers) + " layers, names " +
                                   std::to_string(no_rope_layers.size()));
      no_rope_layers.resize(layers);
    }
    const std::vector<std::string> named = c.texts("layer_types");
    if (!named.empty() && named.size() != layers)
      c.fail("layer_types", "must name " + std::to_string(layers) + " layers, names " +
                                std::to_string(named.size()));
    for (std::size_t i = 0; i < layers; ++i) {
      const bool chunked = i < named.size() ? named[i] == "chunked_attention" : no_rope_layers[i];
      layer_types[i] = chunked ? LayerType::sliding_attention : LayerType::full_attention;
    }
  }

  void read_moe_layers(const Config& c) {
    const std::int64_t step = c.dimension("interleave_moe_layer_step", 1);
    if (!c.is_null("moe_layers")) return;
    for (std::int64_t i = step - 1; i < num_hidden_layers; i += step) moe_layers.push_back(i);
  }
};

class Llama4TextRMSNorm : public nn::Module<Llama4TextRMSNorm> {
 public:
  Llama4TextRMSNorm(const nn::Scope& scope, std::int64_t hidden_size)
      : Module(scope), weight_(scope.parameter("weight", {hidden_size})) {}
  Tensor forward(const Tensor& x) {
    Tensor output;
    {
      const Tensor in_float = x.to_float();
      output = l2_norm(in_float);
    }
    output = output.to(x.dtype());
    return output.mul(weight_);
  }

 private:
  Tensor weight_;
};

Tensor as_complex_query(const Tensor& x) {
  return ghost::view_as_complex(
      x.to_float().reshape(x.sizes().leading().with(x.size(-1) / 2).with(2)));
}

std::pair<Tensor, Tensor> llama4_apply_rotary_emb(const Tensor& xq, const Tensor& xk,
                                                  const Tensor& freqs_cis) {
  const Tensor xq_complex = as_complex_query(xq);
  const Tensor xk_complex = as_complex_query(xk);
  const Tensor xq_out =
      ghost::view_as_real(ghost::complex_mul(xq_complex, freqs_cis.unsqueeze(2))).view(xq.sizes());
  const Tensor xk_out =
      ghost::view_as_real(ghost::complex_mul(xk_complex, freqs_cis.unsqueeze(2))).view(xk.sizes());
  Tensor q = xq_out.to(xq.dtype());
  return {std::move(q), xk_out.to(xk.dtype())};
}

class Llama4TextAttention : public nn::Module<Llama4TextAttention> {
 public:
  Llama4TextAttention(const nn::Scope& scope, const Llama4TextConfig& c, std::int64_t layer)
      : Module(scope),
        call_(attention_call(c)),
        head_dim_(c.head_dim),
        use_rope_(c.rotates(layer)),
        tunes_temperature_(c.attn_temperature_tuning),
        q_proj_(scope / "q_proj", c.hidden_size, c.num_attention_heads * c.head_dim, c.qkv_bias),
        k_proj_(scope / "k_proj", c.hidden_size, c.num_key_value_heads * c.head_dim, c.qkv_bias),
        v_proj_(scope / "v_proj", c.hidden_size, c.num_key_value_heads * c.head_dim, c.qkv_bias),
        o_proj_(scope / "o_proj", c.num_attention_heads * c.head_dim, c.hidden_size, c.o_bias) {
    call_.eager_softmax = EagerSoftmax::plain;
    if (c.use_qk_norm && use_rope_) qk_norm_.emplace(scope / "qk_norm");
  }

  Tensor forward(const Tensor& hidden_states, const Tensor& attention_mask,
                 const CosSin& position_embeddings) {
    const Dims input_shape = hidden_states.sizes().leading();
    const Dims hidden_shape = input_shape.with(-1).with(head_dim_);
    Tensor query_states = q_proj_(hidden_states).view(hidden_shape);
    Tensor key_states = k_proj_(hidden_states).view(hidden_shape);
    Tensor value_states = v_proj_(hidden_states).view(hidden_shape).transpose(1, 2);
    if (use_rope_)
      std::tie(query_states, key_states) =
          llama4_apply_rotary_emb(query_states, key_states, position_embeddings.first);
    if (qk_norm_) {
      query_states = (*qk_norm_)(query_states);
      key_states = (*qk_norm_)(key_states);
    }
    TemperatureLocals temperature;
    if (tunes_temperature_ && !use_rope_) query_states = temperature.tune(query_states);
    query_states = query_states.transpose(1, 2);
    key_states = key_states.transpose(1, 2);
    KeyValueCache::update(key_states, value_states);
    const Tensor attn_output =
        attention_interface(call_, query_states, key_states, value_states, attention_mask)
            .reshape(input_shape.with(-1))
            .contiguous();
    return o_proj_(attn_output);
  }

 private:
  /// positions and attn_scales live to the end of forward.
  struct TemperatureLocals {
    Tensor positions, attn_scales;
    Tensor tune(const Tensor& query_states) {
      const std::int64_t batch = query_states.size(0), length = query_states.size(1);
      positions = ghost::arange(length, DType::int64).add(0);
      attn_scales = ghost::log1p(ghost::floor(positions.to_float().add(1.0).div(8192.0)));
      attn_scales = std::move(attn_scales).mul(0.1).add(1.0);
      attn_scales = attn_scales.view({1, length, 1, 1}).expand({batch, length, 1, 1});
      return query_states.mul(attn_scales).to(query_states.dtype());
    }
  };

  AttentionCall call_;
  std::int64_t head_dim_;
  bool use_rope_, tunes_temperature_;
  nn::Linear q_proj_, k_proj_, v_proj_, o_proj_;
  std::optional<Llama4TextL2Norm> qk_norm_;
};

class Llama4TextExperts : public nn::Module<Llama4TextExperts> {
 public:
  Llama4TextExperts(const nn::Scope& scope, const MoeConfig& c)
      : Module(scope),
        num_experts_(c.num_experts),
        gate_up_proj_(scope.parameter("gate_up_proj",
                                      {c.num_experts, c.hidden_size, 2 * c.intermediate_size})),
        down_proj_(
            scope.parameter("down_proj", {c.num_experts, c.intermediate_size, c.hidden_size})),
        act_fn_(c.hidden_act) {}

  Tensor forward(const Tensor& x) {
    const Tensor hidden_states = x.view({num_experts_, -1, x.size(-1)});
    const Tensor gate_up = ghost::bmm(hidden_states, gate_up_proj_);
    const std::vector<Tensor> halves = gate_up.chunk(2, -1);
    const Tensor next_states = ghost::bmm(halves[1].mul(act_fn_(halves[0])), down_proj_);
    return next_states.view({-1, x.size(-1)});
  }

 private:
  std::int64_t num_experts_;
  Tensor gate_up_proj_, down_proj_;
  nn::Activation act_fn_;
};

/// An nn.Linear of its own class.
class Llama4Router : public nn::Module<Llama4Router> {
 public:
  Llama4Router(const nn::Scope& scope, const MoeConfig& c)
      : Module(scope),
        top_k_(c.num_experts_per_tok),
        weight_(scope.parameter("weight", {c.num_experts, c.hidden_size})) {}

  /// Scores and logits.
  std::pair<Tensor, Tensor> forward(const Tensor& hidden_states) {
    Tensor router_logits = ghost::linear(hidden_states, weight_, {});
    const auto [router_top_value, router_indices] = ghost::topk(router_logits, top_k_);
    Tensor router_scores = ghost::empty_like(router_logits, router_logits.dtype());
    ghost::scatter_(router_scores, router_indices, router_top_value);
    router_scores = ghost::sigmoid(router_scores.to_float()).to(router_scores.dtype());
    return {std::move(router_scores), std::move(router_logits)};
  }

 private:
  std::int64_t top_k_;
  Tensor weight_;
};

class Llama4TextMoe : public nn::Module<Llama4TextMoe> {
 public:
  Llama4TextMoe(const nn::Scope& scope, const Llama4TextConfig& c)
      : Module(scope),
        experts_(scope / "experts", c),
        router_(scope / "router", c),
        shared_expert_(scope / "shared_expert", c) {}

  /// The layer keeps the router's logits beside the output until it returns.
  Tensor forward(const Tensor& x) {
    const Tensor hidden_states = x.reshape({-1, x.size(-1)});
    const auto [router_scores, router_logits] = router_(hidden_states);
    const std::int64_t experts = router_scores.size(1);
    Tensor routed_in = ghost::repeat_rows(hidden_states, experts);
    routed_in = routed_in.mul(router_scores.transpose(0, 1).reshape({-1, 1}));
    const Tensor routed_out = experts_(routed_in);
    Tensor out = shared_expert_(hidden_states);
    ghost::add_(out, routed_out.reshape({experts, -1, routed_out.size(-1)}).sum(0));
    nn::LayerFrame::keep_attention_weights(router_logits);
    RouterLogits::record(router_logits);
    return out;
  }

 private:
  Llama4TextExperts experts_;
  Llama4Router router_;
  LlamaMLP shared_expert_;
};

class Llama4TextDecoderLayer : public nn::GradientCheckpointingLayer<Llama4TextDecoderLayer> {
 public:
  Llama4TextDecoderLayer(const nn::Scope& scope, const Llama4TextConfig& c, nn::ListIndex layer)
      : GradientCheckpointingLayer(scope), self_attn_(scope / "self_attn", c, layer) {
    if (c.has_experts(layer))
      moe_.emplace(scope / "feed_forward", c);
    else
      mlp_.emplace(scope / "feed_forward", with_intermediate_size(c, c.intermediate_size_mlp));
    input_layernorm_.emplace(scope / "input_layernorm", c.hidden_size);
    post_attention_layernorm_.emplace(scope / "post_attention_layernorm", c.hidden_size);
  }

  Tensor forward(const Tensor& x, const Tensor& attention_mask, const CosSin& position_embeddings,
                 const Tensor&) {
    Tensor residual = x;
    Tensor hidden_states = (*input_layernorm_)(x);
    const Tensor attention_states = self_attn_(hidden_states, attention_mask, position_embeddings);
    hidden_states = residual.add(attention_states);

    residual = hidden_states;
    hidden_states = (*post_attention_layernorm_)(hidden_states);
    hidden_states = moe_ ? (*moe_)(hidden_states) : (*mlp_)(hidden_states);
    return residual.add(hidden_states.view(residual.sizes()));
  }

 private:
  Llama4TextAttention self_attn_;
  std::optional<Llama4TextMoe> moe_;
  std::optional<LlamaMLP> mlp_;
  std::optional<Llama4TextRMSNorm> input_layernorm_, post_attention_layernorm_;
};

struct Llama4TextParts : MoeParts {
  using Settings = Llama4TextConfig;
  using DecoderLayer = Llama4TextDecoderLayer;
  using Norm = Llama4TextRMSNorm;
  /// With a cache, which outlives the layers, none is like another.
  static int layer_kind(const Llama4TextConfig& c, std::size_t at) {
    const auto layer = static_cast<std::int64_t>(at);
    if (c.use_cache) return static_cast<int>(layer);
    return DecoderParts::layer_kind(c, at) * 4 + (c.rotates(layer) ? 2 : 0) +
           (c.has_experts(layer) ? 1 : 0);
  }
  static LayerMasks make_masks(const Llama4TextConfig& c, const Tensor& attention_mask,
                               const Tensor& inputs_embeds, const Tensor& position_ids) {
    const MaskRequest request{.attention = c.attention,
                              .attention_mask = attention_mask,
                              .sliding_window = *c.sliding_window};
    LayerMasks masks;
    masks.full_attention = create_causal_mask(request, inputs_embeds, position_ids);
    masks.sliding_attention = create_chunked_causal_mask(request, inputs_embeds, position_ids);
    return masks;
  }
};

class Llama4ForCausalLM : public DecoderForCausalLM<Llama4TextParts> {
 public:
  Llama4ForCausalLM(const Llama4TextConfig& config, const ModelOptions& options)
      : DecoderForCausalLM(config, options),
        use_cache_(config.use_cache),
        keeps_router_logits_(config.output_router_logits) {}

  ModelOutput forward(const Batch& batch) override {
    const OwnCache past_key_values(use_cache_, tree, {.sliding_windows = sliding_windows()});
    const RouterLogits kept(keeps_router_logits_);
    return DecoderForCausalLM::forward(batch);
  }

 private:
  bool use_cache_, keeps_router_logits_;
};

ModelPointer build_llama4_decoder(const Config& text, const ModelOptions& options, bool use_cache) {
  Llama4TextConfig config(text, options);
  config.use_cache = use_cache;
  return build_checked<Llama4ForCausalLM>(text, config, options);
}

/// The text model of the vision-language model: turning the outer use_cache off leaves its own.
ModelPointer build_llama4(const Config& c, const ModelOptions& options) {
  const Config text = c.object("text_config");
  return build_llama4_decoder(text, options, text.boolean("use_cache", true));
}

ModelPointer build_llama4_text(const Config& c, const ModelOptions& options) {
  return build_llama4_decoder(c, options, false);
}

}  // namespace

extern const FamilyFacts kLlama4{.model_type = "llama4",
                                 .first = {4, 51, 0},
                                 .ties_head = Known::no,
                                 .has_bos = Known::yes,
                                 .modeling = kDecoder,
                                 .router_gives_two = true,
                                 .build = build_llama4};

extern const FamilyFacts kLlama4Text{.model_type = "llama4_text",
                                     .first = {4, 51, 0},
                                     .ties_head = Known::no,
                                     .has_bos = Known::yes,
                                     .modeling = kDecoder,
                                     .router_gives_two = true,
                                     .build = build_llama4_text};

}  // namespace memtape::family
