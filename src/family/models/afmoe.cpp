// SPDX-License-Identifier: Apache-2.0
// AFMoE (Arcee's Trinity): gated attention with norms on the heads of q and k, rotated only where
// it slides; a norm before and one behind each branch; experts by sigmoid scores beside shared
// ones, in the first layers an MLP. Mirroring transformers 5.17 models/afmoe/modular_afmoe.py.
#include <optional>
#include <tuple>
#include <utility>

#include "family/caches/key_value_cache.h"
#include "family/facts.h"
#include "family/parts/deepseek_moe.h"
#include "family/parts/rms_norms.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/indexing.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/sorting.h"

namespace memtape::family {
namespace {

struct AfmoeConfig : MoeConfig {
  AfmoeConfig(const Config& c, const ModelOptions& options)
      : MoeConfig(c, options,
                  {.vocab_size = 200192,
                   .hidden_size = 2048,
                   .intermediate_size = 6144,
                   .num_attention_heads = 16,
                   .head_dim = c.has("head_dim") ? 0 : 128},
                  {.num_experts_per_tok = 6}),
        num_dense_layers(c.count("num_dense_layers", 1)),
        num_shared_experts(c.dimension("num_shared_experts", 2)),
        scales_embeddings(c.boolean("mup_enabled", false)) {
    qkv_bias = o_bias = c.boolean("attention_bias", false);
    read_sliding_pattern(c, *this, c.dimension("global_attn_every_n_layers", 4), 1024);
  }
  bool has_experts(std::int64_t layer) const { return layer >= num_dense_layers; }

  std::int64_t num_dense_layers, num_shared_experts;
  bool scales_embeddings;
};

class AfmoeTokenChoiceRouter : public nn::Module<AfmoeTokenChoiceRouter> {
 public:
  AfmoeTokenChoiceRouter(const nn::Scope& scope, const MoeConfig& c)
      : Module(scope),
        top_k_(c.num_experts_per_tok),
        gate_(scope / "gate", c.hidden_size, c.num_experts, false) {}

  Routing forward(const Tensor& x, const Tensor& expert_bias) {
    const Tensor hidden_states = x.view({-1, x.size(-1)});
    Tensor router_logits = gate_(hidden_states).to_float();
    const Tensor scores = ghost::sigmoid(router_logits);
    const ghost::ValuesAndIndices top_k = ghost::topk(scores.add(expert_bias), top_k_);
    Tensor top_scores = ghost::gather(scores, top_k.second);
    const Tensor denominator = top_scores.sum(-1, true).add(1e-20);
    top_scores = top_scores.div(denominator);
    top_scores = top_scores.mul(ghost::kScale);  // route_scale
    RouterLogits::record(router_logits);
    return {std::move(router_logits), std::move(top_scores), top_k.second};
  }

 private:
  std::int64_t top_k_;
  nn::Linear gate_;
};

class AfmoeSparseMoeBlock : public nn::Module<AfmoeSparseMoeBlock> {
 public:
  AfmoeSparseMoeBlock(const nn::Scope& scope, const AfmoeConfig& c)
      : Module(scope),
        router_(scope / "router", c),
        shared_experts_(scope / "shared_experts",
                        with_intermediate_size(c, c.moe_intermediate_size * c.num_shared_experts)),
        experts_(scope / "experts", c),
        expert_bias_(scope.parameter("expert_bias", {c.num_experts}, router_dtype(scope))) {
    expert_bias_.impl().requires_grad = false;
  }

  Tensor forward(const Tensor& x) {
    const Tensor hidden_states_flat = x.view({-1, x.size(-1)});
    const Routing routing = router_(x, expert_bias_);
    const Tensor shared_output = shared_experts_(hidden_states_flat).view(x.sizes());
    const Tensor routed_output =
        experts_(hidden_states_flat, routing.indices, routing.weights).view(x.sizes());
    return shared_output.add(routed_output);
  }

 private:
  AfmoeTokenChoiceRouter router_;
  LlamaMLP shared_experts_;
  Experts experts_;
  Tensor expert_bias_;
};

class AfmoeAttention : public nn::Module<AfmoeAttention> {
 public:
  AfmoeAttention(const nn::Scope& scope, const AfmoeConfig& c, std::int64_t layer)
      : Module(scope),
        call_(attention_call(c)),
        head_dim_(c.head_dim),
        rotates_(c.layer_type(layer) == LayerType::sliding_attention),
        q_proj_(scope / "q_proj", c.hidden_size, c.num_attention_heads * c.head_dim, c.qkv_bias),
        k_proj_(scope / "k_proj", c.hidden_size, c.num_key_value_heads * c.head_dim, c.qkv_bias),
        v_proj_(scope / "v_proj", c.hidden_size, c.num_key_value_heads * c.head_dim, c.qkv_bias),
        o_proj_(scope / "o_proj", c.num_attention_heads * c.head_dim, c.hidden_size, c.o_bias),
        norms_(scope, c),
        gate_proj_(scope / "gate_proj", c.hidden_size, c.num_attention_heads * c.head_dim, false) {}

  Tensor forward(const Tensor& hidden_states, const Tensor& attention_mask,
                 const CosSin& position_embeddings) {
    const Dims input_shape = hidden_states.sizes().leading();
    const Dims hidden_shape = input_shape.with(-1).with(head_dim_);
    Tensor query_states = q_proj_(hidden_states).view(hidden_shape);
    Tensor key_states = k_proj_(hidden_states).view(hidden_shape);
    Tensor value_states = v_proj_(hidden_states).view(hidden_shape);
    const Tensor gate_states = gate_proj_(hidden_states);
    norms_(query_states, key_states);
    for (Tensor* states : {&query_states, &key_states, &value_states})
      *states = states->transpose(1, 2);
    if (rotates_)
      std::tie(query_states, key_states) =
          apply_rotary_pos_emb(query_states, key_states, position_embeddings);
    KeyValueCache::update(key_states, value_states);
    Tensor output =
        attention_interface(call_, query_states, key_states, value_states, attention_mask)
            .view(input_shape.with(-1))
            .contiguous();
    output = output.mul(ghost::sigmoid(gate_states));
    return o_proj_(output);
  }

 private:
  AttentionCall call_;
  std::int64_t head_dim_;
  bool rotates_;
  nn::Linear q_proj_, k_proj_, v_proj_, o_proj_;
  HeadNorms<Olmo2RMSNorm> norms_;
  nn::Linear gate_proj_;
};

class AfmoeDecoderLayer : public nn::GradientCheckpointingLayer<AfmoeDecoderLayer> {
 public:
  AfmoeDecoderLayer(const nn::Scope& scope, const AfmoeConfig& c, nn::ListIndex layer)
      : GradientCheckpointingLayer(scope),
        self_attn_(scope / "self_attn", c, layer),
        input_layernorm_(scope / "input_layernorm", c.hidden_size),
        post_attention_layernorm_(scope / "post_attention_layernorm", c.hidden_size),
        pre_mlp_layernorm_(scope / "pre_mlp_layernorm", c.hidden_size),
        post_mlp_layernorm_(scope / "post_mlp_layernorm", c.hidden_size),
        mlp_(scope / "mlp", c, layer) {}

  Tensor forward(const Tensor& x, const Tensor& attention_mask, const CosSin& position_embeddings,
                 const Tensor&) {
    Tensor residual = x;
    Tensor hidden_states = input_layernorm_(x);
    hidden_states = self_attn_(hidden_states, attention_mask, position_embeddings);
    hidden_states = post_attention_layernorm_(hidden_states);
    hidden_states = residual.add(hidden_states);

    residual = hidden_states;
    hidden_states = pre_mlp_layernorm_(hidden_states);
    hidden_states = mlp_(hidden_states);
    hidden_states = post_mlp_layernorm_(hidden_states);
    hidden_states = residual.add(hidden_states);
    return hidden_states;
  }

 private:
  AfmoeAttention self_attn_;
  Olmo2RMSNorm input_layernorm_, post_attention_layernorm_, pre_mlp_layernorm_, post_mlp_layernorm_;
  MaybeSparseMlp<AfmoeSparseMoeBlock> mlp_;
};

struct AfmoeParts : MoeParts {
  using Settings = AfmoeConfig;
  using DecoderLayer = AfmoeDecoderLayer;
  using Norm = Olmo2RMSNorm;
  /// Layers of one type with and without experts.
  static int layer_kind(const AfmoeConfig& c, std::size_t layer) {
    const auto index = static_cast<std::int64_t>(layer);
    return 2 * static_cast<int>(c.layer_type(index)) + (c.has_experts(index) ? 1 : 0);
  }
  static Tensor enter_layers(const Tensor& inputs_embeds, const AfmoeConfig& c) {
    return c.scales_embeddings ? inputs_embeds.mul(2.0) : inputs_embeds;
  }
  /// The masks are made without the positions.
  static LayerMasks make_masks(const AfmoeConfig& c, const Tensor& attention_mask,
                               const Tensor& inputs_embeds, const Tensor&) {
    return create_layer_masks(c, attention_mask, inputs_embeds, {});
  }
};

/// The router logits are collected, but no loss is made of them.
class AfmoeForCausalLM final : public DecoderForCausalLM<AfmoeParts> {
 public:
  AfmoeForCausalLM(const AfmoeConfig& c, const ModelOptions& options)
      : DecoderForCausalLM(c, options), collects_(c.output_router_logits) {}

  ModelOutput forward(const Batch& batch) override {
    const RouterLogits collector(collects_);
    return DecoderForCausalLM::forward(batch);
  }

 private:
  bool collects_;
};

ModelPointer build_afmoe(const Config& c, const ModelOptions& options) {
  return build_checked<AfmoeForCausalLM>(c, AfmoeConfig(c, options), options);
}

}  // namespace

extern const FamilyFacts kAfmoe{.model_type = "afmoe",
                                .first = {5, 0, 0},
                                .ties_head = Known::no,
                                .has_bos = Known::no,
                                .modeling = kDecoder,
                                .build = build_afmoe};

}  // namespace memtape::family
