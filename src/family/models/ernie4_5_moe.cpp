// SPDX-License-Identifier: Apache-2.0
// ERNIE 4.5: Llama with neighbours rotated in float32; its mixtures have in some layers experts
// beside shared ones, whose router works in float32 outside autocast. Mirroring transformers 5.17
// models/ernie4_5/modular_ernie4_5.py and models/ernie4_5_moe/modular_ernie4_5_moe.py.
#include <optional>

#include "family/facts.h"
#include "family/parts/attention_of.h"
#include "family/parts/llama_layer.h"
#include "family/parts/moe_decoder.h"
#include "family/parts/qwen2_moe_block.h"
#include "family/parts/rotate_pairs.h"
#include "ghost/autocast.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/indexing.h"
#include "ghost/ops/matmul.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"
#include "ghost/ops/sorting.h"
#include "nn/parametrize.h"

namespace memtape::family {
namespace {

using Ernie4_5Attention = AttentionOf<Rotated<rotate_pairs_in_float>>;

struct Ernie4_5Parts : DecoderParts {
  using DecoderLayer = PreNormDecoderLayer<Ernie4_5Attention>;
  using Norm = LlamaRMSNorm;
};

struct Ernie4_5MoeConfig : MoeConfig {
  Ernie4_5MoeConfig(const Config& c, const ModelOptions& options)
      : MoeConfig(c, options,
                  {.vocab_size = 103424,
                   .hidden_size = 2560,
                   .intermediate_size = 12288,
                   .num_hidden_layers = 28,
                   .num_attention_heads = 20,
                   .num_key_value_heads = 4,
                   .tie_word_embeddings = true},
                  {.experts_key = {"moe_num_experts", "num_experts"},
                   .num_experts = 64,
                   .num_experts_per_tok = 6,
                   .intermediate_size = 1536,
                   .experts_per_tok_key = {"moe_k", "num_experts_per_tok"}}),
        shared_experts(c.count("moe_num_shared_experts", 2)),
        first_layer(c.count("moe_layer_start_index", 1)),
        last_layer(c.integer("moe_layer_end_index", -1)),
        interval(c.dimension("moe_layer_interval", 1)) {
    qkv_bias = o_bias = mlp_bias = head_bias = c.boolean("use_bias", false);
    attention_dropout = 0.0;
    rope.keeps_float32 = true;
    loop = LoopBefore5::hit;
    if (last_layer == -1) last_layer = num_hidden_layers - 1;
  }
  std::int64_t shared_experts, first_layer, last_layer, interval;

  bool has_experts(std::int64_t layer) const {
    return (layer + 1) % interval == 0 && layer >= first_layer && layer <= last_layer;
  }
};

/// The bias that keeps the load even: a parameter that is not trained.
class Ernie4_5MoeStatics : public nn::Module<Ernie4_5MoeStatics> {
 public:
  Ernie4_5MoeStatics(const nn::Scope& scope, const MoeConfig& c)
      : Module(scope),
        e_score_correction_bias_(
            scope.parameter("e_score_correction_bias", {1, c.num_experts}, DType::float32)) {
    e_score_correction_bias_.impl().requires_grad = false;
  }

  Tensor forward(const Tensor& hidden_states) {
    return hidden_states.add(e_score_correction_bias_.squeeze(0));
  }

 private:
  Tensor e_score_correction_bias_;
};

class Ernie4_5MoeTopKRouter : public nn::Module<Ernie4_5MoeTopKRouter> {
 public:
  /// `moe_statics`: of the block where the router is a linear layer alone; null: its own.
  Ernie4_5MoeTopKRouter(const nn::Scope& scope, const MoeConfig& c, Ernie4_5MoeStatics* moe_statics)
      : Module(scope), top_k_(c.num_experts_per_tok), moe_statics_(moe_statics) {
    if (moe_statics) {
      linear_.emplace(scope, c.hidden_size, c.num_experts, false, DType::float32);
      return;
    }
    weight_ = scope.parameter("weight", {c.num_experts, c.hidden_size}, DType::float32);
    moe_statics_ = &own_statics_.emplace(scope / "moe_statics", c);
  }

  Routing forward(const Tensor& hidden_states) {
    const nn::Parametrized weight(node(), weight_);
    Tensor router_logits, routing_weights;
    ghost::ValuesAndIndices selected;
    {
      const ghost::AutocastContext no_autocast(false, DType::float32);
      router_logits = linear_ ? linear_->forward(hidden_states.to_float())
                              : ghost::linear(hidden_states.to_float(), nn::value_of(weight_), {});
      routing_weights = ghost::softmax(router_logits, DType::float32);
      selected = ghost::topk((*moe_statics_)(routing_weights), top_k_);
      routing_weights = ghost::gather(routing_weights, selected.second);
      routing_weights =
          routing_weights.div(ghost::clamp(routing_weights.sum(-1, true), {.min = ghost::kLimit}));
    }
    routing_weights = routing_weights.to(hidden_states.dtype());
    RouterLogits::record(router_logits);
    return {std::move(router_logits), std::move(routing_weights), selected.second};
  }

 private:
  std::int64_t top_k_;
  Tensor weight_;
  std::optional<nn::Linear> linear_;  ///< in its place
  std::optional<Ernie4_5MoeStatics> own_statics_;
  Ernie4_5MoeStatics* moe_statics_;
};

class Ernie4_5MoeSparseMoeBlock : public nn::Module<Ernie4_5MoeSparseMoeBlock> {
 public:
  Ernie4_5MoeSparseMoeBlock(const nn::Scope& scope, const Ernie4_5MoeConfig& c) : Module(scope) {
    if (is_linear_router(c)) moe_statics_.emplace(scope / "moe_statics", c);
    gate_.emplace(scope / "gate", c, moe_statics_ ? &*moe_statics_ : nullptr);
    experts_.emplace(scope / "experts", c);
    if (c.shared_experts > 0)
      shared_experts_.emplace(
          scope / "shared_experts",
          with_intermediate_size(c, c.moe_intermediate_size * c.shared_experts));
  }

  Tensor forward(const Tensor& x) {
    const Tensor hidden_states = x.view({-1, x.size(-1)});
    Tensor shared_output;
    if (shared_experts_) shared_output = (*shared_experts_)(hidden_states);
    const Routing routing = (*gate_)(hidden_states);
    Tensor final_hidden_states = (*experts_)(hidden_states, routing.indices, routing.weights);
    if (shared_experts_) final_hidden_states = final_hidden_states.add(shared_output);
    final_hidden_states = final_hidden_states.reshape(x.sizes());
    return final_hidden_states.to(hidden_states.dtype());
  }

 private:
  std::optional<Ernie4_5MoeStatics> moe_statics_;  ///< beside the router, before 5.0
  std::optional<Ernie4_5MoeTopKRouter> gate_;
  std::optional<Experts> experts_;
  std::optional<LlamaMLP> shared_experts_;
};

struct Ernie4_5MoeParts : MoeParts {
  using Settings = Ernie4_5MoeConfig;
  using DecoderLayer =
      PreNormDecoderLayer<Ernie4_5Attention, MaybeSparseMlp<Ernie4_5MoeSparseMoeBlock>>;
  using Norm = LlamaRMSNorm;
};

ModelPointer build_ernie4_5(const Config& c, const ModelOptions& options) {
  DecoderConfig config(c, options,
                       {.vocab_size = 103424,
                        .hidden_size = 1024,
                        .intermediate_size = 3072,
                        .num_hidden_layers = 18,
                        .num_attention_heads = 16,
                        .num_key_value_heads = 2,
                        .head_dim = c.has("head_dim") ? 0 : 128,
                        .tie_word_embeddings = true});
  config.qkv_bias = config.o_bias = config.mlp_bias = c.boolean("use_bias", false);
  config.attention_dropout = 0.0;
  config.rope.keeps_float32 = true;
  return build_checked<DecoderForCausalLM<Ernie4_5Parts>>(c, config, options);
}

ModelPointer build_ernie4_5_moe(const Config& c, const ModelOptions& options) {
  return build_checked<MoeForCausalLM<Ernie4_5MoeParts>>(c, Ernie4_5MoeConfig(c, options), options);
}

}  // namespace

extern const FamilyFacts kErnie45{.model_type = "ernie4_5",
                                  .first = {4, 54, 0},
                                  .ties_head = Known::yes,
                                  .has_bos = Known::yes,
                                  .modeling = kDecoder,
                                  .build = build_ernie4_5};

extern const FamilyFacts kErnie45Moe{.model_type = "ernie4_5_moe",
                                     .first = {4, 54, 0},
                                     .ties_head = Known::yes,
                                     .has_bos = Known::yes,
                                     .modeling = kDecoder,
                                     .build = build_ernie4_5_moe};

}  // namespace memtape::family
