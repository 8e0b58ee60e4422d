// SPDX-License-Identifier: Apache-2.0
// DeepSeek-V4: hyper-connected layers of compressed attention and experts, whose first routers look
// the experts up by token; mirroring transformers 5.17 models/deepseek_v4/modeling_deepseek_v4.py.
#include "family/parts/deepseek_v4_settings.h"

#include <optional>

#include "family/facts.h"
#include "family/parts/deepseek_v4_attention.h"
#include "family/parts/float32_since.h"
#include "family/parts/moe_decoder.h"
#include "ghost/ops/copies.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/indexing.h"
#include "ghost/ops/matmul.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/sorting.h"
#include "release/family_changes.h"
#include "release/transformers_changes.h"

namespace memtape::family {
namespace {

/// DeepseekV4Experts._apply_gate.
Tensor deepseek_v4_gate(const Tensor& gate_up, const nn::Activation& act_fn) {
  const std::vector<Tensor> halves = gate_up.chunk(2, -1);
  const Tensor gate = ghost::clamp(halves[0], {.max = ghost::kLimit});
  const Tensor up = ghost::clamp(halves[1], {.min = -ghost::kLimit, .max = ghost::kLimit});
  return act_fn(gate).mul(up);
}

class DeepseekV4Mlp : public nn::Module<DeepseekV4Mlp> {
 public:
  DeepseekV4Mlp(const nn::Scope& scope, const DecoderConfig& c)
      : Module(scope),
        gate_proj_(scope / "gate_proj", c.hidden_size, c.intermediate_size, c.mlp_bias),
        up_proj_(scope / "up_proj", c.hidden_size, c.intermediate_size, c.mlp_bias),
        down_proj_(scope / "down_proj", c.intermediate_size, c.hidden_size, c.mlp_bias),
        act_fn_(c.hidden_act) {}

  Tensor forward(const Tensor& x) {
    const Tensor gate = ghost::clamp(gate_proj_(x), {.max = ghost::kLimit});
    const Tensor up = ghost::clamp(up_proj_(x), {.min = -ghost::kLimit, .max = ghost::kLimit});
    return down_proj_(act_fn_(gate).mul(up));
  }

 private:
  nn::Linear gate_proj_, up_proj_, down_proj_;
  nn::Activation act_fn_;
};

/// DeepseekV4TopKRouter, DeepseekV4HashRouter.
class DeepseekV4Router : public nn::Module<DeepseekV4Router> {
 public:
  DeepseekV4Router(const nn::Scope& scope, const DeepseekV4Config& c, bool hash)
      : Module(scope),
        top_k_(c.num_experts_per_tok),
        hash_(hash),
        sigmoid_(c.sigmoid_scores),
        weight_(scope.parameter("weight", {c.num_experts, c.hidden_size})) {
    const ghost::ScopeGuard guard(node().scope);
    buffer_ = hash ? ghost::zeros({c.vocab_size, top_k_}, DType::int64)
                   : ghost::zeros({c.num_experts},
                                  float32_since(changes::kDeepseekV4KeepsNormsInFloat32, scope));
    scope.buffer(hash ? "tid2eid" : "e_score_correction_bias", buffer_);
  }

  Routing forward(const Tensor& hidden_states, const Tensor& input_ids) {
    const Tensor flat = hidden_states.reshape({-1, hidden_states.size(-1)});
    Tensor logits = ghost::linear(flat, weight_, {});
    const Tensor scores = sigmoid_ ? ghost::sigmoid(logits) : ghost::sqrt(ghost::softplus(logits));
    Tensor indices = hash_ ? ghost::index(buffer_, input_ids.reshape({-1}))
                           : ghost::topk(scores.add(buffer_), top_k_).second;
    Tensor weights = ghost::gather(scores, indices);
    weights = weights.div(weights.sum(-1, true).add(1e-20));
    if (!hash_) RouterLogits::record(logits);
    Tensor scaled = weights.mul(1.5);
    return {std::move(logits), std::move(scaled), std::move(indices)};
  }

 private:
  std::int64_t top_k_;
  bool hash_, sigmoid_;
  Tensor weight_, buffer_;
};

class DeepseekV4SparseMoeBlock : public nn::Module<DeepseekV4SparseMoeBlock> {
 public:
  DeepseekV4SparseMoeBlock(const nn::Scope& scope, const DeepseekV4Config& c, std::int64_t layer)
      : Module(scope),
        gate_(scope / "gate", c, c.hash_moe[static_cast<std::size_t>(layer)]),
        experts_(scope / "experts", c, {.apply_gate = deepseek_v4_gate}),
        shared_experts_(scope / "shared_experts", c) {}

  Tensor forward(const Tensor& hidden_states, const Tensor& input_ids) {
    const Tensor flat = hidden_states.view({-1, hidden_states.size(-1)});
    const Routing routing = gate_(hidden_states, input_ids);
    const Tensor routed =
        experts_(flat, routing.indices, routing.weights).view(hidden_states.sizes());
    return routed.add(shared_experts_(hidden_states));
  }

 private:
  DeepseekV4Router gate_;
  Experts experts_;
  DeepseekV4Mlp shared_experts_;
};

class DeepseekV4DecoderLayer : public nn::GradientCheckpointingLayer<DeepseekV4DecoderLayer> {
 public:
  DeepseekV4DecoderLayer(const nn::Scope& scope, const DeepseekV4Config& c, nn::ListIndex layer)
      : GradientCheckpointingLayer(scope),
        self_attn_(scope / "self_attn", c, layer),
        mlp_(scope / "mlp", c, layer),
        input_layernorm_(scope / "input_layernorm", c.hidden_size),
        post_attention_layernorm_(scope / "post_attention_layernorm", c.hidden_size),
        attn_hc_(scope / "attn_hc", c.hyper_connection),
        ffn_hc_(scope / "ffn_hc", c.hyper_connection) {}

  Tensor forward(const Tensor& x, const DeepseekV4Positions& positions, const Tensor& input_ids) {
    HyperConnection::Weights weights = attn_hc_(x);
    const Tensor attn_output = self_attn_(input_layernorm_(weights.collapsed), positions);
    const Tensor hidden_states = HyperConnection::mix(weights, attn_output, x);

    weights = ffn_hc_(hidden_states);
    const Tensor mlp_output = mlp_(post_attention_layernorm_(weights.collapsed), input_ids);
    return HyperConnection::mix(weights, mlp_output, hidden_states);
  }
  void init_weights() const { self_attn_.init_weights(); }

 private:
  DeepseekV4Attention self_attn_;
  DeepseekV4SparseMoeBlock mlp_;
  DeepseekV4RMSNorm input_layernorm_, post_attention_layernorm_;
  HyperConnection attn_hc_, ffn_hc_;
};

class DeepseekV4Model : public nn::Module<DeepseekV4Model> {
 public:
  DeepseekV4Model(const nn::Scope& scope, const DeepseekV4Config& c)
      : Module(scope),
        embed_tokens(scope / "embed_tokens", c.vocab_size, c.hidden_size),
        config_(c),
        layers_(scope / "layers", c.num_hidden_layers, c),
        norm_(scope / "norm", c.hidden_size),
        rotary_emb_(scope / "rotary_emb", c),
        hc_head_(scope / "hc_head", c.hyper_connection) {
    for (const DeepseekV4DecoderLayer& layer : layers_) layer.init_weights();
    rotary_emb_.init_weights();
  }

  Tensor forward(const Tensor& input_ids, const Tensor& attention_mask) {
    using Kind = DeepseekV4RotaryEmbedding::Kind;
    const Tensor inputs_embeds = embed_tokens(input_ids);
    const std::int64_t batch = inputs_embeds.size(0), length = inputs_embeds.size(1);
    DeepseekV4Positions positions;
    positions.position_ids = position_ids_for(inputs_embeds);
    const bool looks_for_packed_rows = ghost::has(changes::kDeepseekV4CachesWhenAsked);
    positions.attention_mask = create_sliding_window_causal_mask(
        {.attention = config_.attention,
         .attention_mask = attention_mask,
         .sliding_window = *config_.sliding_window},
        inputs_embeds, looks_for_packed_rows ? positions.position_ids : Tensor());
    Tensor hidden_states = inputs_embeds.unsqueeze(2)
                               .expand({batch, length, config_.hyper_connection.mult, -1})
                               .contiguous();
    positions.main = rotary_emb_(inputs_embeds, positions.position_ids, Kind::main);
    positions.compress = rotary_emb_(inputs_embeds, positions.position_ids, Kind::compress);
    for (DeepseekV4DecoderLayer& layer : layers_)
      hidden_states = layer(hidden_states, positions, input_ids);
    return norm_(hc_head_(hidden_states));
  }

  nn::Embedding embed_tokens;

 private:
  DeepseekV4Config config_;
  nn::ModuleList<DeepseekV4DecoderLayer> layers_;
  DeepseekV4RMSNorm norm_;
  DeepseekV4RotaryEmbedding rotary_emb_;
  HyperHead hc_head_;
};

struct DeepseekV4Parts : MoeParts {
  using Settings = DeepseekV4Config;
};

ModelPointer build_deepseek_v4(const Config& c, const ModelOptions& options) {
  return build_checked<MoeForCausalLM<DeepseekV4Parts, DeepseekV4Model>>(
      c, DeepseekV4Config(c, options), options);
}

}  // namespace

extern const FamilyFacts kDeepseekV4{.model_type = "deepseek_v4",
                                     .first = {5, 8, 0},
                                     .ties_head = Known::no,
                                     .has_bos = Known::yes,
                                     .modeling = eager_only(stateful(kDecoder)),
                                     .build = build_deepseek_v4};

}  // namespace memtape::family
