// SPDX-License-Identifier: Apache-2.0
// GPT-OSS: attention with sinks, every second layer sliding, and experts with biases whose gate
// and up projections alternate; mirroring transformers 5.17 models/gpt_oss/modeling_gpt_oss.py.
#include <optional>
#include <utility>

#include "family/facts.h"
#include "family/parts/attention_of.h"
#include "family/parts/experts_by_index.h"
#include "family/parts/llama_layer.h"
#include "family/parts/moe_decoder.h"
#include "family/parts/rms_norms.h"
#include "family/parts/sink_attention.h"
#include "ghost/ops/matmul.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"
#include "ghost/ops/sorting.h"
#include "ghost/ops/views.h"
#include "nn/layer_frame.h"
#include "release/mixture_changes.h"
#include "release/transformers_changes.h"

namespace memtape::family {
namespace {

struct GptOssConfig : MoeConfig {
  GptOssConfig(const Config& c, const ModelOptions& options)
      : MoeConfig(c, options,
                  {.vocab_size = 201088,
                   .hidden_size = 2880,
                   .intermediate_size = 2880,
                   .num_hidden_layers = 36,
                   .num_attention_heads = 64,
                   .num_key_value_heads = 8,
                   .head_dim = 64},
                  {.experts_key = {"num_local_experts", "num_experts"},
                   .num_experts = 128,
                   .num_experts_per_tok = 4,
                   .intermediate_key = "intermediate_size",
                   .intermediate_size = 2880}) {
    qkv_bias = o_bias = c.boolean("attention_bias", true);
    sliding_window = c.has("sliding_window") ? c.optional_dimension("sliding_window") : 128;
    layer_types = read_layer_types(c, num_hidden_layers, [](std::int64_t layer) {
      return (layer + 1) % 2 != 0 ? LayerType::sliding_attention : LayerType::full_attention;
    });
    if (!sliding_window) c.fail("sliding_window", "is null, but the model makes a sliding mask");
    masks_by_layer_type = masks_both_types = true;
    attention = sink_implementation(options.attention);
    if (c.is_null("rope_scaling") && c.is_null("rope_parameters")) rope.rope_type = RopeType::yarn;
    rope.half_width = true;
  }
};

/// _apply_rotary_emb.
Tensor rotated_in_halves(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  const std::vector<Tensor> halves = x.chunk(2, -1);
  return join_rotated(halves[0], halves[1], cos, sin);
}

/// apply_rotary_pos_emb.
std::pair<Tensor, Tensor> rotate_q_and_k(const Tensor& q, const Tensor& k, const CosSin& cos_sin) {
  const Tensor cos = cos_sin.first.unsqueeze(1), sin = cos_sin.second.unsqueeze(1);
  Tensor q_embed = rotated_in_halves(q, cos, sin);
  Tensor k_embed = rotated_in_halves(k, cos, sin);
  return {std::move(q_embed), std::move(k_embed)};
}

/// GptOssAttention: Llama's, but for its rotation and a sink for each head.
struct GptOssSteps : Rotated<rotate_q_and_k> {
  GptOssSteps(const nn::Scope& scope, const DecoderConfig& c, std::int64_t layer)
      : Rotated(scope, c, layer), sinks(scope.parameter("sinks", {c.num_attention_heads})) {}
  Tensor attend(const AttentionCall& call, const Tensor& query, const Tensor& key,
                const Tensor& value, const Tensor& attention_mask) const {
    return sink_attention(call, query, key, value, attention_mask, sinks);
  }
  Tensor sinks;
};
using GptOssAttention = AttentionOf<GptOssSteps>;

/// GptOssExperts._apply_gate: gate and up in turns, both clamped.
Tensor gpt_oss_gate(const Tensor& gate_up, const nn::Activation&) {
  Tensor gate = ghost::strided_slice(gate_up, -1, 0, 2);
  Tensor up = ghost::strided_slice(gate_up, -1, 1, 2);
  gate = ghost::clamp(gate, {.max = ghost::kLimit});
  up = ghost::clamp(up, {.min = -ghost::kLimit, .max = ghost::kLimit});
  const Tensor glu = gate.mul(ghost::sigmoid(gate.mul(1.702)));
  return up.add(1).mul(glu);
}

class GptOssTopKRouter : public nn::Module<GptOssTopKRouter> {
 public:
  GptOssTopKRouter(const nn::Scope& scope, const MoeConfig& c)
      : Module(scope),
        top_k_(c.num_experts_per_tok),
        weight_(scope.parameter("weight", {c.num_experts, c.hidden_size})),
        bias_(scope.parameter("bias", {c.num_experts})) {}

  Routing forward(const Tensor& hidden_states) {
    Tensor router_logits = ghost::linear(hidden_states, weight_, bias_);
    auto [router_top_value, router_indices] = ghost::topk(router_logits, top_k_);
    if (!ghost::has(changes::kExpertsAreStacked))
      return spread(router_logits, router_top_value, router_indices);
    Tensor router_scores = ghost::softmax(router_top_value, router_top_value.dtype());
    RouterLogits::record(router_logits);
    return {std::move(router_logits), std::move(router_scores), std::move(router_indices)};
  }

 private:
  /// The scores of transformers 4: a place for each expert. The logits go with the router.
  static Routing spread(const Tensor& router_logits, Tensor& router_top_value,
                        const Tensor& router_indices) {
    router_top_value = ghost::softmax(router_top_value, router_top_value.dtype());
    Tensor router_scores = spread_over_experts(router_logits, router_indices, router_top_value);
    RouterLogits::record(router_scores);
    return {{}, std::move(router_scores), router_indices};
  }

  std::int64_t top_k_;
  Tensor weight_, bias_;
};

class GptOssMlp : public nn::Module<GptOssMlp> {
 public:
  GptOssMlp(const nn::Scope& scope, const MoeConfig& c)
      : Module(scope), router_(scope / "router", c) {
    if (ghost::has(changes::kExpertsAreStacked))
      experts_.emplace(
          scope / "experts", c,
          ExpertsLayout{.transposed = true, .has_bias = true, .apply_gate = gpt_oss_gate});
    else
      experts_by_index_.emplace(
          scope / "experts", c,
          ByIndexStyle{.has_bias = true,
                       .selects = ghost::has(changes::kGptOssSelectsExperts),
                       .skips_one_more = ghost::has(changes::kGptOssSkipsOneMore)});
  }

  /// The layer keeps the scores beside the hidden states until it returns.
  Tensor forward(const Tensor& x) {
    Tensor hidden_states = x.reshape({-1, x.size(-1)});
    const Routing routing = router_(hidden_states);
    hidden_states = experts_by_index_
                        ? (*experts_by_index_)(x, routing.indices, routing.weights)
                        : (*experts_)(hidden_states, routing.indices, routing.weights);
    nn::LayerFrame::keep_attention_weights(routing.weights);
    return hidden_states.reshape(x.sizes());
  }

 private:
  GptOssTopKRouter router_;
  std::optional<Experts> experts_;
  std::optional<ExpertsByIndex> experts_by_index_;  ///< in their place
};

struct GptOssParts : MoeParts {
  using Settings = GptOssConfig;
  using DecoderLayer = PreNormDecoderLayer<GptOssAttention, GptOssMlp, Olmo2RMSNorm>;
  using Norm = Olmo2RMSNorm;
  /// The masks are made without the positions.
  static LayerMasks make_masks(const GptOssConfig& c, const Tensor& attention_mask,
                               const Tensor& inputs_embeds, const Tensor&) {
    return create_layer_masks(c, attention_mask, inputs_embeds, {});
  }
};

ModelPointer build_gpt_oss(const Config& c, const ModelOptions& options) {
  return build_moe<GptOssParts>(c, GptOssConfig(c, options), options);
}

}  // namespace

extern const FamilyFacts kGptOss{.model_type = "gpt_oss",
                                 .first = {4, 55, 0},
                                 .ties_head = Known::no,
                                 .has_bos = Known::no,
                                 .modeling = eager_only(kDecoder),
                                 .classifiers = {.sequences = true, .tokens = true},
                                 .build = build_gpt_oss};

}  // namespace memtape::family
