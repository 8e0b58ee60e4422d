// SPDX-License-Identifier: Apache-2.0
// DBRX: one projection for q, k and v, clipped, layer norms without biases, and experts that run
// one after the other, each a slice of three weights that hold all; mirroring transformers 5.17
// models/dbrx/modular_dbrx.py.
#include <array>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "family/caches/key_value_cache.h"
#include "family/facts.h"
#include "family/losses/loss.h"
#include "family/parts/activations.h"
#include "family/parts/experts.h"
#include "family/parts/experts_loop.h"
#include "family/parts/llama_layer.h"
#include "ghost/autocast.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/dropout.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"
#include "ghost/ops/sorting.h"
#include "nn/layer_frame.h"
#include "release/mixture_changes.h"
#include "release/transformers_changes.h"

namespace memtape::family {
namespace {

struct DbrxConfig {
  DbrxConfig(const Config& c, const ModelOptions& options)
      : attn(c.object("attn_config")),
        ffn(c.object("ffn_config")),
        vocab_size(c.dimension("vocab_size", 32000)),
        hidden_size(c.dimension({"d_model", "hidden_size"}, 2048)),
        num_layers(c.layers({"n_layers", "num_hidden_layers"}, 24)),
        num_heads(c.dimension({"n_heads", "num_attention_heads"}, 16)),
        kv_heads(attn.dimension("kv_n_heads", 1)),
        ffn_hidden_size(ffn.dimension("ffn_hidden_size", 3584)),
        experts(ffn.dimension("moe_num_experts", 4)),
        top_k(ffn.dimension("moe_top_k", 1)),
        resid_pdrop(c.number("resid_pdrop", 0.0)),
        attn_pdrop(attn.number("attn_pdrop", 0.0)),
        clips(attn.optional_number("clip_qkv").has_value()),
        jitters(ffn.optional_number("moe_jitter_eps").has_value()),
        normalizes(!ffn.has("moe_normalize_expert_weights") ||
                   ffn.optional_number("moe_normalize_expert_weights").has_value()),
        tie_word_embeddings(c.boolean("tie_word_embeddings", false)),
        act(activation(ffn.object("ffn_act_fn"), "name", "silu")),
        rope(rope_parameters(c, std::max<std::int64_t>(hidden_size / num_heads, 1))),
        attention(options.attention),
        load(options.expert_load) {
    if (hidden_size % num_heads != 0) c.fail("n_heads", "must divide d_model");
    if (num_heads % kv_heads != 0) c.fail("attn_config", "kv_n_heads must divide n_heads");
    if (top_k > experts) c.fail("ffn_config", "moe_top_k must be at most moe_num_experts");
    if (c.boolean("output_router_logits", false)) c.fail("output_router_logits", "is not modelled");
    if (normalizes && ffn.number("moe_normalize_expert_weights", 1.0) != 1.0)
      c.fail("ffn_config", "only moe_normalize_expert_weights 1 is modelled");
  }
  std::int64_t head_dim() const { return hidden_size / num_heads; }

  Config attn, ffn;
  std::int64_t vocab_size, hidden_size, num_layers, num_heads, kv_heads, ffn_hidden_size, experts,
      top_k;
  double resid_pdrop, attn_pdrop;
  bool clips, jitters, normalizes, tie_word_embeddings;
  nn::Activation act;
  RopeParameters rope;
  AttentionImplementation attention;
  ExpertLoad load;
};

class DbrxAttention : public nn::Module<DbrxAttention> {
 public:
  DbrxAttention(const nn::Scope& scope, const DbrxConfig& c)
      : Module(scope),
        call_{.implementation = c.attention,
              .num_key_value_groups = c.num_heads / c.kv_heads,
              .dropout = c.attn_pdrop},
        head_dim_(c.head_dim()),
        clips_(c.clips),
        parts_{c.hidden_size, c.kv_heads * c.head_dim(), c.kv_heads * c.head_dim()},
        wqkv_(scope / "Wqkv", c.hidden_size, c.hidden_size + 2 * c.kv_heads * c.head_dim(), false),
        out_proj_(scope / "out_proj", c.hidden_size, c.hidden_size, false) {
    call_.interface_since = &changes::kDbrxIsLikeOthers;
    if (!ghost::has(changes::kDbrxIsLikeOthers)) rotary_emb_.emplace(scope / "rotary_emb", c.rope);
  }

  /// If each attention makes cos and sin itself, `position_embeddings` holds the positions.
  Tensor forward(const Tensor& hidden_states, const Tensor& attention_mask,
                 const CosSin& position_embeddings) {
    const Dims input_shape = hidden_states.sizes().leading();
    const Dims hidden_shape = input_shape.with(-1).with(head_dim_);
    Tensor qkv_states = wqkv_(hidden_states);
    qkv_states = clips_ ? ghost::clamp(qkv_states, {.min = -ghost::kLimit, .max = ghost::kLimit})
                        : ghost::clamp(qkv_states, {.max = ghost::kLimit});
    std::vector<Tensor> split = qkv_states.split(parts_, 2);
    Tensor query_states = std::move(split[0]).view(hidden_shape).transpose(1, 2);
    Tensor key_states = std::move(split[1]).view(hidden_shape).transpose(1, 2);
    Tensor value_states = std::move(split[2]).view(hidden_shape).transpose(1, 2);
    const CosSin cos_sin =
        rotary_emb_ ? (*rotary_emb_)(value_states, position_embeddings.first) : position_embeddings;
    std::tie(query_states, key_states) = apply_rotary_pos_emb(query_states, key_states, cos_sin);
    KeyValueCache::update(key_states, value_states);
    Tensor attn_output =
        rotary_emb_
            ? written_out_attention(call_, query_states, key_states, value_states, attention_mask)
            : attention_interface(call_, query_states, key_states, value_states, attention_mask);
    attn_output = attn_output.reshape(input_shape.with(-1)).contiguous();
    return out_proj_(attn_output);
  }

 private:
  AttentionCall call_;
  std::int64_t head_dim_;
  bool clips_;
  std::array<std::int64_t, 3> parts_;
  nn::Linear wqkv_, out_proj_;
  std::optional<RotaryEmbedding> rotary_emb_;
};

/// Weights of all experts, one under the other; called with those of one.
class DbrxExpertGLU : public nn::Module<DbrxExpertGLU> {
 public:
  DbrxExpertGLU(const nn::Scope& scope, const DbrxConfig& c)
      : Module(scope),
        w1(scope.parameter("w1", {c.experts * c.ffn_hidden_size, c.hidden_size})),
        v1(scope.parameter("v1", {c.experts * c.ffn_hidden_size, c.hidden_size})),
        w2(scope.parameter("w2", {c.experts * c.ffn_hidden_size, c.hidden_size})),
        activation_fn_(c.act) {}

  Tensor forward(const Tensor& x, const Tensor& expert_w1, const Tensor& expert_v1,
                 const Tensor& expert_w2) {
    Tensor gate_proj = x.matmul(expert_w1.t());
    const Tensor up_proj = x.matmul(expert_v1.t());
    gate_proj = activation_fn_(gate_proj);
    const Tensor intermediate_states = gate_proj.mul(up_proj);
    return intermediate_states.matmul(expert_w2);
  }

  Tensor w1, v1, w2;

 private:
  nn::Activation activation_fn_;
};

class DbrxExperts : public nn::Module<DbrxExperts> {
 public:
  DbrxExperts(const nn::Scope& scope, const DbrxConfig& c)
      : Module(scope), config_(c), mlp_(scope / "mlp", c) {}

  Tensor forward(const Tensor& x, const Tensor& top_k_index, const Tensor& top_k_weights) {
    if (!ghost::has(changes::kDbrxIsLikeOthers)) return run_chunks(x, top_k_index, top_k_weights);
    const Tensor hidden_states = x.reshape({-1, config_.hidden_size});
    const Dims split_expert_shape{-1, config_.ffn_hidden_size, config_.hidden_size};
    ExpertsLoop loop(
        hidden_states, {top_k_index, top_k_weights},
        config_.load.by_expert({hidden_states.size(0), config_.top_k, config_.experts}),
        {.result = hidden_states.dtype(), .asks_each = false});
    Tensor v1, w1, w2, states;
    while (loop.next()) {
      v1 = mlp_.v1.view(split_expert_shape).select(0, loop.expert_idx());
      w1 = mlp_.w1.view(split_expert_shape).select(0, loop.expert_idx());
      w2 = mlp_.w2.view(split_expert_shape).select(0, loop.expert_idx());
      states = mlp_(loop.current_state(), w1, v1, w2);
      states = states.view({-1, config_.hidden_size}).mul(loop.weights());
      loop.add(states);
    }
    return loop.final_hidden_states().view({x.size(0), -1, config_.hidden_size});
  }

 private:
  std::vector<Tensor> chunks_of(const Tensor& all) const {
    std::vector<Tensor> chunks =
        all.view({config_.experts, config_.ffn_hidden_size, config_.hidden_size})
            .chunk(config_.experts, 0);
    for (Tensor& chunk : chunks) chunk = chunk.squeeze(0);
    return chunks;
  }

  /// The forward of transformers 4.
  Tensor run_chunks(const Tensor& given, const Tensor& top_experts, const Tensor& top_weights) {
    const Tensor x = given.view({-1, config_.hidden_size});
    ExpertsLoop loop(x, {top_experts, top_weights},
                     config_.load.by_expert({x.size(0), config_.top_k, config_.experts}),
                     {.result = x.dtype(), .asks_each = false, .finds_hit = false});
    const std::vector<Tensor> w1 = chunks_of(mlp_.w1), v1 = chunks_of(mlp_.v1),
                              w2 = chunks_of(mlp_.w2);
    Tensor expert_tokens, expert_out;
    while (loop.next()) {
      const auto expert = static_cast<std::size_t>(loop.expert_idx());
      expert_tokens = loop.current_state();
      expert_out = mlp_(expert_tokens, w1[expert], v1[expert], w2[expert]).mul(loop.weights());
      loop.add(expert_out);
    }
    return loop.final_hidden_states().reshape(given.sizes());
  }

  DbrxConfig config_;
  DbrxExpertGLU mlp_;
};

class DbrxRouter : public nn::Module<DbrxRouter> {
 public:
  DbrxRouter(const nn::Scope& scope, const DbrxConfig& c)
      : Module(scope),
        jitters_(c.jitters),
        layer_(scope / "layer", c.hidden_size, c.experts, false) {}

  Tensor forward(const Tensor& x) {
    if (jitters_ && ghost::session().training) ghost::mul_(x, ghost::empty_like(x, x.dtype()));
    const Tensor hidden_states = x.view({-1, x.size(-1)});
    return layer_(hidden_states);
  }

 private:
  bool jitters_;
  nn::Linear layer_;
};

class DbrxFFN : public nn::Module<DbrxFFN> {
 public:
  DbrxFFN(const nn::Scope& scope, const DbrxConfig& c)
      : Module(scope),
        normalizes_(c.normalizes),
        top_k_(c.top_k),
        router_(scope / "router", c),
        experts_(scope / "experts", c) {}

  /// In transformers 4 the block holds what each token gives every expert until it returns.
  Tensor forward(const Tensor& hidden_states, Tensor& held_by_block) {
    if (!ghost::has(changes::kDbrxIsLikeOthers)) {
      Routing routing = route_and_cast(router_(hidden_states), hidden_states.dtype());
      held_by_block = std::move(routing.logits);
      return experts_(hidden_states, routing.indices, routing.weights);
    }
    const Tensor router_logits = router_(hidden_states);
    const auto [top_k_weights, top_k_index] = route(router_logits);
    return experts_(hidden_states, top_k_index, top_k_weights);
  }

 private:
  /// The rest of DbrxRouter.forward in transformers 4.
  Routing route_and_cast(Tensor logits, DType dtype) const {
    Tensor weights = ghost::softmax(std::move(logits), DType::float32);
    auto [top_weights, top_experts] = ghost::topk(weights, top_k_);
    Tensor top_weights_scale;
    if (normalizes_) {
      top_weights_scale = ghost::norm_1(top_weights);
      top_weights = top_weights.div(top_weights_scale);
    }
    weights = weights.to(dtype);
    return {std::move(weights), top_weights.to(dtype), std::move(top_experts)};
  }

  /// route_tokens_to_experts.
  ghost::ValuesAndIndices route(const Tensor& given) const {
    const Tensor router_logits = ghost::softmax(given, given.dtype());
    auto [router_top_value, router_indices] = ghost::topk(router_logits, top_k_);
    if (normalizes_) router_top_value = router_top_value.div(ghost::norm_1(router_top_value));
    return {std::move(router_top_value), std::move(router_indices)};
  }

  bool normalizes_;
  std::int64_t top_k_;
  DbrxRouter router_;
  DbrxExperts experts_;
};

struct ResidualAndHidden {
  Tensor residual, hidden;
};

class DbrxNormAttentionNorm : public nn::Module<DbrxNormAttentionNorm> {
 public:
  DbrxNormAttentionNorm(const nn::Scope& scope, const DbrxConfig& c)
      : Module(scope),
        resid_pdrop_(c.resid_pdrop),
        norm_1_(scope / "norm_1", c.hidden_size, false),
        attn_(scope / "attn", c),
        norm_2_(scope / "norm_2", c.hidden_size, false) {}

  ResidualAndHidden forward(const Tensor& x, const Tensor& attention_mask,
                            const CosSin& position_embeddings) {
    const nn::LayerFrame frame;  // of attention's weights: they go with this module, not the block
    Tensor residual_states = x;
    Tensor hidden_states = norm_1_(x).to(x.dtype());
    hidden_states = attn_(hidden_states, attention_mask, position_embeddings);
    hidden_states = ghost::dropout(hidden_states, resid_pdrop_);
    hidden_states = hidden_states.add(residual_states);
    residual_states = hidden_states;
    hidden_states = norm_2_(hidden_states).to(hidden_states.dtype());
    return {std::move(residual_states), std::move(hidden_states)};
  }

 private:
  double resid_pdrop_;
  nn::LayerNorm norm_1_;
  DbrxAttention attn_;
  nn::LayerNorm norm_2_;
};

class DbrxBlock : public nn::GradientCheckpointingLayer<DbrxBlock> {
 public:
  DbrxBlock(const nn::Scope& scope, const DbrxConfig& c)
      : GradientCheckpointingLayer(scope),
        resid_pdrop_(c.resid_pdrop),
        norm_attn_norm_(scope / "norm_attn_norm", c),
        ffn_(scope / "ffn", c) {}

  Tensor forward(const Tensor& x, const Tensor& attention_mask, const CosSin& position_embeddings,
                 const Tensor&) {
    Tensor held;
    auto [resid_states, hidden_states] = norm_attn_norm_(x, attention_mask, position_embeddings);
    hidden_states = ffn_(hidden_states, held);
    hidden_states = ghost::dropout(hidden_states, resid_pdrop_);
    return resid_states.add(hidden_states);
  }

 private:
  double resid_pdrop_;
  DbrxNormAttentionNorm norm_attn_norm_;
  DbrxFFN ffn_;
};

class DbrxForCausalLM : public PretrainedModel {
 public:
  DbrxForCausalLM(const DbrxConfig& c, const ModelOptions& options)
      : PretrainedModel(options),
        config_(c),
        transformer_(root() / "transformer"),
        rotary_emb_(made_rope(transformer_, c)),
        wte_(transformer_ / "wte", c.vocab_size, c.hidden_size),
        blocks_(transformer_ / "blocks", c.num_layers, c),
        norm_f_(transformer_ / "norm_f", c.hidden_size, false),
        lm_head_(finish_body() / "lm_head", c.hidden_size, c.vocab_size, false) {
    if (c.tie_word_embeddings) nn::tie(lm_head_, wte_.weight);
  }

  ModelOutput forward(const Batch& batch) override {
    const Tensor hidden_states = run_body(batch);
    Tensor logits = lm_head_(kept_for_logits(hidden_states, this->model_type));
    Tensor loss = causal_lm_loss(logits, batch, config_.vocab_size, this->model_type);
    return {std::move(loss), std::move(logits)};
  }

 private:
  static std::optional<RotaryEmbedding> made_rope(const nn::Scope& scope, const DbrxConfig& c) {
    if (!ghost::has(changes::kDbrxIsLikeOthers)) return std::nullopt;
    return std::optional<RotaryEmbedding>(std::in_place, scope / "rotary_emb", c.rope);
  }

  nn::Scope finish_body() {
    if (rotary_emb_) rotary_emb_->init_weights();
    return root();
  }

  Tensor run_body(const Batch& batch) {
    const Tensor inputs_embeds = wte_(batch.input_ids);
    const Tensor position_ids = position_ids_for(inputs_embeds);
    const Tensor causal_mask = create_causal_mask({.attention = config_.attention,
                                                   .attention_mask = batch.attention_mask,
                                                   .shared_since = changes::kAllMasksAreShared},
                                                  inputs_embeds, position_ids);
    Tensor hidden_states = inputs_embeds;
    const CosSin position_embeddings =
        rotary_emb_ ? (*rotary_emb_)(hidden_states, position_ids) : CosSin{position_ids, {}};
    for (DbrxBlock& block : blocks_)
      hidden_states = block(hidden_states, causal_mask, position_embeddings, position_ids);
    return norm_f_(hidden_states);
  }

  DbrxConfig config_;
  nn::Scope transformer_;
  std::optional<RotaryEmbedding> rotary_emb_;
  nn::Embedding wte_;
  nn::ModuleList<DbrxBlock> blocks_;
  nn::LayerNorm norm_f_;
  nn::Linear lm_head_;
};

ModelPointer build_dbrx(const Config& c, const ModelOptions& options) {
  return build_checked<DbrxForCausalLM>(c, DbrxConfig(c, options), options);
}

}  // namespace

extern const FamilyFacts kDbrx{.model_type = "dbrx",
                               .ties_head = Known::no,
                               .has_bos = Known::no,
                               .modeling = kDecoder,
                               .loops_over_experts = true,
                               .build = build_dbrx};

}  // namespace memtape::family
