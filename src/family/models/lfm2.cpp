// SPDX-License-Identifier: Apache-2.0
// LFM2 and its mixture of experts: the first layers of the latter have an MLP, the others experts
// chosen by sigmoid scores and a bias that keeps the load even; mirroring transformers 5.17
// models/lfm2/modular_lfm2.py and models/lfm2_moe/modular_lfm2_moe.py.
#include "family/models/lfm2.h"

#include <utility>

#include "family/facts.h"
#include "family/parts/experts.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/indexing.h"
#include "ghost/ops/matmul.h"
#include "ghost/ops/sorting.h"
#include "nn/parametrize.h"

namespace memtape::family {

Lfm2Config::Lfm2Config(const Config& c, const ModelOptions& options)
    : Lfm2LayersConfig(c, options,
                       {.vocab_size = 65536,
                        .hidden_size = 2560,
                        .intermediate_size = 12288,
                        .num_key_value_heads = 8,
                        .tie_word_embeddings = true}) {
  if (c.has("block_ff_dim")) intermediate_size = c.dimension("block_ff_dim");
  if (c.boolean("block_auto_adjust_ff_dim", true)) adjust_intermediate_size(c);
}

void Lfm2Config::adjust_intermediate_size(const Config& c) {
  intermediate_size = 2 * intermediate_size / 3;
  const std::int64_t block = c.dimension("block_multiple_of", 256);
  if (c.has("block_ffn_dim_multiplier") && c.is_null("block_ffn_dim_multiplier")) return;
  const double factor = c.number("block_ffn_dim_multiplier", 1.0);
  if (factor <= 0 || factor > 1e6) c.fail("block_ffn_dim_multiplier", "must be a positive number");
  const double product = std::clamp(factor, 0.0, 1e6) * static_cast<double>(intermediate_size);
  intermediate_size =
      std::max<std::int64_t>(ceil_div(static_cast<std::int64_t>(product), block), 1) * block;
}

namespace {

constexpr DecoderDefaults kMoeDefaults{.vocab_size = 65536,
                                       .hidden_size = 2048,
                                       .intermediate_size = 7168,
                                       .num_key_value_heads = 8,
                                       .tie_word_embeddings = true};

struct Lfm2MoeConfig : Lfm2LayersConfig {
  Lfm2MoeConfig(const Config& c, const ModelOptions& options)
      : Lfm2LayersConfig(c, options, kMoeDefaults),
        moe(c, options, kMoeDefaults,
            {.num_experts = 32, .num_experts_per_tok = 4, .intermediate_size = 1792}),
        num_dense_layers(c.count("num_dense_layers", 2)),
        use_expert_bias(c.boolean("use_expert_bias", true)) {
    moe.norm_topk_prob = c.boolean("norm_topk_prob", true);
    moe.hidden_act = *nn::Activation::from_name("silu");
    if (c.is_null("layer_types"))
      c.fail("layer_types", "must name the layers: there is no default");
  }
  MoeConfig moe;
  std::int64_t num_dense_layers;
  bool use_expert_bias;
};

class Lfm2MoeTopKRouter : public nn::Module<Lfm2MoeTopKRouter> {
 public:
  Lfm2MoeTopKRouter(const nn::Scope& scope, const MoeConfig& c)
      : Module(scope),
        top_k_(c.num_experts_per_tok),
        normalizes_(c.norm_topk_prob),
        weight_(scope.parameter("weight", {c.num_experts, c.hidden_size})) {}

  Routing forward(const Tensor& hidden_states, const Tensor& expert_bias) {
    const nn::Parametrized weight(node(), weight_);
    Tensor router_logits = ghost::linear(hidden_states, nn::value_of(weight_), {});
    Tensor routing_weights = ghost::sigmoid(router_logits);
    Tensor selected_experts, scores_for_routing;
    if (expert_bias.defined()) {
      scores_for_routing = routing_weights.add(expert_bias);
      selected_experts = ghost::topk(scores_for_routing, top_k_).second;
      routing_weights = ghost::gather(routing_weights, selected_experts).to(router_logits.dtype());
    } else {
      std::tie(routing_weights, selected_experts) = ghost::topk(routing_weights, top_k_);
    }
    if (normalizes_) routing_weights = routing_weights.div(routing_weights.sum(-1, true).add(1e-6));
    routing_weights = routing_weights.mul(2.0);
    return {std::move(router_logits), std::move(routing_weights), std::move(selected_experts)};
  }

 private:
  std::int64_t top_k_;
  bool normalizes_;
  Tensor weight_;
};

class Lfm2MoeSparseMoeBlock : public nn::Module<Lfm2MoeSparseMoeBlock> {
 public:
  Lfm2MoeSparseMoeBlock(const nn::Scope& scope, const Lfm2MoeConfig& c)
      : Module(scope), experts_(scope / "experts", c.moe), gate_(scope / "gate", c.moe) {
    if (!c.use_expert_bias) return;
    const ghost::ScopeGuard guard(node().scope);
    expert_bias_ = ghost::zeros({c.moe.num_experts}, DType::float32);
    scope.buffer("expert_bias", expert_bias_);
  }

  Tensor forward(const Tensor& x) {
    const Tensor hidden_states_reshaped = x.view({-1, x.size(-1)});
    const Routing routing = gate_(hidden_states_reshaped, expert_bias_);
    const Tensor final_hidden_states =
        experts_(hidden_states_reshaped, routing.indices, routing.weights);
    return final_hidden_states.reshape(x.sizes());
  }

 private:
  Experts experts_;
  Lfm2MoeTopKRouter gate_;
  Tensor expert_bias_;
};

/// `feed_forward`
class Lfm2MoeFeedForward {
 public:
  Lfm2MoeFeedForward(const nn::Scope& scope, const Lfm2MoeConfig& c, std::int64_t layer) {
    if (layer < c.num_dense_layers)
      dense_.emplace(scope, c, layer);
    else
      sparse_.emplace(scope, c);
  }
  Tensor operator()(const In& x) { return sparse_ ? (*sparse_)(x) : (*dense_)(x); }

 private:
  std::optional<Lfm2MLP> dense_;
  std::optional<Lfm2MoeSparseMoeBlock> sparse_;
};

struct Lfm2MoeParts : Lfm2PartsBase {
  using Settings = Lfm2MoeConfig;
  using DecoderLayer = Lfm2DecoderLayer<Lfm2MoeFeedForward>;
};

ModelPointer build_lfm2(const Config& c, const ModelOptions& options) {
  return build_checked<HybridForCausalLM<Lfm2Parts>>(c, Lfm2Config(c, options), options);
}

ModelPointer build_lfm2_moe(const Config& c, const ModelOptions& options) {
  return build_checked<HybridForCausalLM<Lfm2MoeParts>>(c, Lfm2MoeConfig(c, options), options);
}

}  // namespace

extern const FamilyFacts kLfm2{.model_type = "lfm2",
                               .first = {4, 54, 0},
                               .ties_head = Known::yes,
                               .has_bos = Known::yes,
                               .modeling = with_convolutions(kDecoder),
                               .build = build_lfm2};

extern const FamilyFacts kLfm2Moe{.model_type = "lfm2_moe",
                                  .first = {5, 0, 0},
                                  .ties_head = Known::yes,
                                  .has_bos = Known::yes,
                                  .modeling = with_convolutions(kDecoder),
                                  .build = build_lfm2_moe};

}  // namespace memtape::family
