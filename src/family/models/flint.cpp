// SPDX-License-Identifier: Apache-2.0
// Flint: Qwen3-MoE with sinks in attention, rotation where a layer slides, and a shared expert;
// mirroring transformers 5.24 models/flint/modular_flint.py.
#include <utility>

#include "family/facts.h"
#include "family/parts/attention_calls.h"
#include "family/parts/attention_steps.h"
#include "family/parts/deepseek_moe.h"
#include "family/parts/rms_norms.h"
#include "family/parts/sink_attention.h"
#include "ghost/autocast.h"
#include "ghost/ops/flash_attn_3.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/reductions.h"
#include "ghost/ops/sorting.h"
#include "nn/layer_frame.h"
#include "nn/parametrize.h"

namespace memtape::family {
namespace {

struct FlintConfig : QwenMoeConfig {
  FlintConfig(const Config& c, const ModelOptions& options)
      : QwenMoeConfig(c, options,
                      {.vocab_size = 150144,
                       .hidden_size = 2048,
                       .intermediate_size = 6144,
                       .num_hidden_layers = 49,
                       .num_attention_heads = 32,
                       .num_key_value_heads = 4,
                       .head_dim = 128},
                      {.num_experts = 256, .num_experts_per_tok = 6, .intermediate_size = 512}),
        shared_expert_intermediate_size(c.dimension("shared_expert_intermediate_size", 1024)) {
    norm_topk_prob = c.boolean("norm_topk_prob", true);
    qkv_bias = o_bias = c.boolean("attention_bias", false);
    if (c.is_null("mlp_only_layers")) mlp_only_layers = {0, 1};
    sliding_window = c.dimension("sliding_window", 513);
    layer_types = read_layer_types(c, num_hidden_layers, [](std::int64_t layer) {
      return layer < 2 || layer % 4 == 1 ? LayerType::full_attention : LayerType::sliding_attention;
    });
    if (c.is_null("layer_types")) layer_types.back() = LayerType::full_attention;
    masks_by_layer_type = masks_both_types = true;
    attention = sink_implementation(options.attention);
  }
  std::int64_t shared_expert_intermediate_size;
};

/// eager_attention_forward: scores and their softmax in float32, also under autocast.
Tensor float32_sink_attention(const AttentionCall& call, const Tensor& query, const Tensor& key,
                              const Tensor& value, const Tensor& attention_mask,
                              const Tensor& sinks_of_heads) {
  AttentionCalls::note(query, key, value);
  if (call.implementation == AttentionImplementation::flash)
    return ghost::flash_attn_3(query.transpose(1, 2), key.transpose(1, 2), value.transpose(1, 2));
  const Tensor key_states = repeat_kv(key, call.num_key_value_groups);
  const Tensor value_states = repeat_kv(value, call.num_key_value_groups);
  Tensor attn_weights;
  {
    const ghost::AutocastContext no_autocast(false, DType::float32);
    Tensor query_float = query.to_float();
    Tensor scores = std::move(query_float).matmul(key_states.to_float().transpose(2, 3));
    attn_weights = std::move(scores).mul(ghost::kScale);
  }
  if (attention_mask.defined()) attn_weights = attn_weights.add(attention_mask);

  const Tensor sinks =
      sinks_of_heads.reshape({1, -1, 1, 1}).expand({query.size(0), -1, query.size(2), -1});
  attn_weights = ghost::softmax(ghost::cat({attn_weights, sinks}, -1), DType::float32)
                     .slice(-1, 0, -1)
                     .to(value_states.dtype());
  attn_weights = ghost::dropout(attn_weights, call.dropout);
  Tensor attn_output = attn_weights.matmul(value_states);
  attn_output = attn_output.transpose(1, 2).contiguous();
  nn::LayerFrame::keep_attention_weights(attn_weights);
  return attn_output;
}

struct FlintSteps : RotatedIfSliding<Olmo2RMSNorm> {
  FlintSteps(const nn::Scope& scope, const DecoderConfig& c, std::int64_t layer)
      : RotatedIfSliding(scope, c, layer),
        sinks(scope.parameter("sinks", {c.num_attention_heads}, DType::float32)) {}
  Tensor attend(const AttentionCall& call, const Tensor& query, const Tensor& key,
                const Tensor& value, const Tensor& attention_mask) const {
    return float32_sink_attention(call, query, key, value, attention_mask, sinks);
  }
  Tensor sinks;
};

/// Takes the largest sigmoid scores, in float32 whatever the model's dtype.
class FlintTopKRouter : public nn::Module<FlintTopKRouter> {
 public:
  FlintTopKRouter(const nn::Scope& scope, const MoeConfig& c)
      : Module(scope),
        top_k_(c.num_experts_per_tok),
        normalizes_(c.norm_topk_prob),
        weight_(scope.parameter("weight", {c.num_experts, c.hidden_size}, DType::float32)) {}

  Routing forward(const Tensor& x) {
    const nn::Parametrized weight(node(), weight_);
    const Tensor hidden_states = x.reshape({-1, x.size(-1)});
    Tensor router_logits;
    {
      const ghost::AutocastContext no_autocast(false, DType::float32);
      router_logits = float32_router_logits(hidden_states, weight_);
    }
    auto [routing_weights, selected_experts] = ghost::topk(ghost::sigmoid(router_logits), top_k_);
    if (normalizes_) routing_weights = routing_weights.div(routing_weights.sum(-1, true));
    RouterLogits::record(router_logits);
    return {std::move(router_logits), std::move(routing_weights), std::move(selected_experts)};
  }

 private:
  std::int64_t top_k_;
  bool normalizes_;
  Tensor weight_;
};

struct FlintParts : MoeParts {
  using Settings = FlintConfig;
  using DecoderLayer =
      PreNormDecoderLayer<AttentionOf<FlintSteps>,
                          MaybeSparseMlp<UngatedSharedExpertMoeBlock<FlintTopKRouter>>,
                          Olmo2RMSNorm>;
  using Norm = Olmo2RMSNorm;
  static int layer_kind(const FlintConfig& c, std::size_t layer) {
    const auto index = static_cast<std::int64_t>(layer);
    return 2 * static_cast<int>(c.layer_type(index)) + (c.has_experts(index) ? 1 : 0);
  }
};

ModelPointer build_flint(const Config& c, const ModelOptions& options) {
  return build_moe<FlintParts>(c, FlintConfig(c, options), options);
}

}  // namespace

extern const FamilyFacts kFlint{.model_type = "flint",
                                .first = {5, 21, 0},
                                .ties_head = Known::no,
                                .has_bos = Known::no,
                                .modeling = eager_only(kDecoder),
                                .build = build_flint};

}  // namespace memtape::family
