// SPDX-License-Identifier: Apache-2.0
// MiniMax M2: Mixtral with sigmoid scores, a bias to keep the load even, RMS norms over all of q
// and k, and heads of which a part may be rotated; mirroring transformers 5.17
// models/minimax_m2/modular_minimax_m2.py.
#include "family/facts.h"
#include "family/parts/llama_layer.h"
#include "family/parts/moe_decoder.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/indexing.h"
#include "ghost/ops/matmul.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/sorting.h"
#include "nn/parametrize.h"
#include "release/transformers_changes.h"

namespace memtape::family {
namespace {

struct MiniMaxM2Config : MoeConfig {
  MiniMaxM2Config(const Config& c, const ModelOptions& options)
      : MoeConfig(c, options,
                  {.vocab_size = 200064,
                   .hidden_size = 3072,
                   .intermediate_size = 1536,
                   .num_hidden_layers = 62,
                   .num_attention_heads = 48,
                   .num_key_value_heads = 8,
                   .head_dim = 128},
                  {.experts_key = {"num_local_experts", "num_experts"},
                   .num_experts = 256,
                   .intermediate_key = "intermediate_size",
                   .intermediate_size = 1536}),
        jitters(c.number("router_jitter_noise", 0.0) > 0) {
    if (ghost::has(changes::kMiniMaxM2ReadsRotaryDim) && c.has("rotary_dim"))
      rope.dim = c.dimension("rotary_dim", rope.dim);
  }
  bool jitters;
};

class MiniMaxM2TopKRouter : public nn::Module<MiniMaxM2TopKRouter> {
 public:
  MiniMaxM2TopKRouter(const nn::Scope& scope, const MoeConfig& c)
      : Module(scope),
        top_k_(c.num_experts_per_tok),
        weight_(scope.parameter("weight", {c.num_experts, c.hidden_size})) {}

  Routing forward(const Tensor& x, const Tensor& e_score_correction_bias) {
    const nn::Parametrized weight(node(), weight_);
    const Tensor hidden_states = x.reshape({-1, x.size(-1)});
    Tensor router_logits =
        ghost::linear(hidden_states.to(weight_.dtype()), nn::value_of(weight_), {});
    const Tensor routing_weights = ghost::sigmoid(router_logits.to_float());
    const Tensor scores_for_choice = routing_weights.add(e_score_correction_bias);
    const ghost::ValuesAndIndices top_k = ghost::topk(scores_for_choice, top_k_);
    Tensor top_k_weights = ghost::gather(routing_weights, top_k.second);
    ghost::div_(top_k_weights, top_k_weights.sum(-1, true));
    RouterLogits::record(router_logits);
    return {std::move(router_logits), std::move(top_k_weights), top_k.second};
  }

 private:
  std::int64_t top_k_;
  Tensor weight_;
};

class MiniMaxM2SparseMoeBlock : public nn::Module<MiniMaxM2SparseMoeBlock> {
 public:
  MiniMaxM2SparseMoeBlock(const nn::Scope& scope, const MiniMaxM2Config& c)
      : Module(scope),
        jitters_(c.jitters),
        gate_(scope / "gate", c),
        experts_(scope / "experts", c) {
    const ghost::ScopeGuard guard(node().scope);
    e_score_correction_bias_ = ghost::zeros({c.num_experts}, scope.dtype());
    scope.buffer("e_score_correction_bias", e_score_correction_bias_);
  }

  Tensor forward(const Tensor& x) {
    if (jitters_) ghost::mul_(x, ghost::empty_like(x, x.dtype()));
    Tensor hidden_states = x.view({-1, x.size(-1)});
    const Routing routing = gate_(hidden_states, e_score_correction_bias_);
    hidden_states = experts_(hidden_states, routing.indices, routing.weights);
    return hidden_states.reshape(x.sizes());
  }

 private:
  bool jitters_;
  MiniMaxM2TopKRouter gate_;
  Experts experts_;
  Tensor e_score_correction_bias_;
};

using MiniMaxM2Attention = AttentionOf<WholeNorms<LlamaRMSNorm, apply_rotary_pos_emb_to_part>>;

struct MiniMaxM2Parts : MoeParts {
  using Settings = MiniMaxM2Config;
  using DecoderLayer = PreNormDecoderLayer<MiniMaxM2Attention, MiniMaxM2SparseMoeBlock>;
  using Norm = LlamaRMSNorm;
};

ModelPointer build_minimax_m2(const Config& c, const ModelOptions& options) {
  return build_checked<MoeForCausalLM<MiniMaxM2Parts>>(c, MiniMaxM2Config(c, options), options);
}

}  // namespace

extern const FamilyFacts kMinimaxM2{.model_type = "minimax_m2",
                                    .first = {5, 0, 0},
                                    .ties_head = Known::no,
                                    .has_bos = Known::yes,
                                    .modeling = kDecoder,
                                    .build = build_minimax_m2};

}  // namespace memtape::family
