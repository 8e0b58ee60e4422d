// SPDX-License-Identifier: Apache-2.0
// Hunyuan 3: Llama's attention with norms on the heads of q and k, experts by sigmoid scores in
// float32 beside shared ones, the two added up in float32, in the first layer an MLP; mirroring
// transformers 5.17 models/hy_v3/modular_hy_v3.py.
#include <tuple>
#include <utility>
#include <vector>

#include "family/facts.h"
#include "family/parts/deepseek_moe.h"
#include "family/parts/moe_decoder.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/indexing.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/sorting.h"
#include "nn/parametrize.h"

namespace memtape::family {
namespace {

struct HYV3Config : MoeConfig {
  HYV3Config(const Config& c, const ModelOptions& options)
      : MoeConfig(c, options,
                  {.vocab_size = 120832,
                   .hidden_size = 4096,
                   .intermediate_size = 13312,
                   .num_hidden_layers = 80,
                   .num_attention_heads = 64,
                   .num_key_value_heads = 8,
                   .head_dim = 128},
                  {.experts_key = {"num_experts", "num_local_experts"},
                   .num_experts = 192,
                   .intermediate_size = 1536}),
        num_shared_experts(c.dimension("num_shared_experts", 1)),
        combines_in_float32(c.boolean("enable_moe_fp32_combine", true)),
        sparse_layers(read_mlp_layer_types(c, num_hidden_layers, 1)) {
    qkv_bias = o_bias = c.boolean("attention_bias", false);
    mlp_bias = c.boolean("mlp_bias", false);
  }
  bool has_experts(std::int64_t layer) const {
    return sparse_layers[static_cast<std::size_t>(layer)];
  }

  std::int64_t num_shared_experts;
  bool combines_in_float32;
  std::vector<bool> sparse_layers;
};

class HYV3TopKRouter : public nn::Module<HYV3TopKRouter> {
 public:
  HYV3TopKRouter(const nn::Scope& scope, const MoeConfig& c)
      : Module(scope),
        top_k_(c.num_experts_per_tok),
        weight_(scope.parameter("weight", {c.num_experts, c.hidden_size}, router_dtype(scope))) {}

  Routing forward(const Tensor& x, const Tensor& e_score_correction_bias) {
    const nn::Parametrized weight(node(), weight_);
    const Tensor hidden_states = x.reshape({-1, x.size(-1)});
    Tensor router_logits = float32_router_logits(hidden_states, weight_);
    const Tensor routing_weights = ghost::sigmoid(router_logits);
    const Tensor scores_for_choice = routing_weights.add(e_score_correction_bias);
    const ghost::ValuesAndIndices top_k = ghost::topk(scores_for_choice, top_k_);
    Tensor top_k_weights = ghost::gather(routing_weights, top_k.second);
    top_k_weights = top_k_weights.div(top_k_weights.sum(-1, true).add(1e-20));
    top_k_weights = top_k_weights.mul(2.0);
    RouterLogits::record(router_logits);
    return {std::move(router_logits), std::move(top_k_weights), top_k.second};
  }

 private:
  std::int64_t top_k_;
  Tensor weight_;
};

class HYV3Moe : public nn::Module<HYV3Moe> {
 public:
  HYV3Moe(const nn::Scope& scope, const HYV3Config& c)
      : Module(scope),
        combines_in_float32_(c.combines_in_float32),
        gate_(scope / "gate", c),
        experts_(scope / "experts", c),
        e_score_correction_bias_(make_bias(c.num_experts, router_dtype(scope))),
        shared_experts_(scope / "shared_experts",
                        with_intermediate_size(c, c.moe_intermediate_size * c.num_shared_experts)) {
    scope.buffer("e_score_correction_bias", e_score_correction_bias_);
  }

  Tensor forward(const Tensor& x) {
    Tensor hidden_states = x.view({-1, x.size(-1)});
    const Routing routing = gate_(hidden_states, e_score_correction_bias_);
    const Tensor routed_output = experts_(hidden_states, routing.indices, routing.weights);
    hidden_states = combined(routed_output, hidden_states);
    return hidden_states.reshape(x.sizes());
  }

 private:
  Tensor make_bias(std::int64_t num_experts, DType dtype) const {
    const ghost::ScopeGuard guard(node().scope);
    return ghost::zeros({num_experts}, dtype);
  }

  Tensor combined(const Tensor& routed_output, const Tensor& hidden_states) {
    if (!combines_in_float32_) return routed_output.add(shared_experts_(hidden_states));
    const Tensor routed_float = routed_output.to_float();
    return routed_float.add(shared_experts_(hidden_states).to_float()).to(hidden_states.dtype());
  }

  bool combines_in_float32_;
  HYV3TopKRouter gate_;
  Experts experts_;
  Tensor e_score_correction_bias_;
  LlamaMLP shared_experts_;
};

struct HYV3Steps {
  HYV3Steps(const nn::Scope& scope, const DecoderConfig& c, std::int64_t) : norms(scope, c) {}
  void operator()(Tensor& q, Tensor& k, const CosSin& cos_sin) {
    norms(q, k);
    std::tie(q, k) = apply_rotary_pos_emb(q, k, cos_sin);
  }
  HeadNorms<LlamaRMSNorm> norms;
};

struct HYV3Parts : MoeParts {
  using Settings = HYV3Config;
  using DecoderLayer = PreNormDecoderLayer<AttentionOf<HYV3Steps>, MaybeSparseMlp<HYV3Moe>>;
  using Norm = LlamaRMSNorm;
};

ModelPointer build_hy_v3(const Config& c, const ModelOptions& options) {
  HYV3Config config(c, options);
  if (config.output_router_logits)
    c.fail("output_router_logits", "is not modelled here: use false");
  return build_checked<DecoderForCausalLM<HYV3Parts>>(c, config, options);
}

}  // namespace

extern const FamilyFacts kHyV3{.model_type = "hy_v3",
                               .first = {5, 6, 0},
                               .ties_head = Known::no,
                               .has_bos = Known::no,
                               .modeling = kDecoder,
                               .build = build_hy_v3};

}  // namespace memtape::family
