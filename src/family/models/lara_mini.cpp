// SPDX-License-Identifier: Apache-2.0
// Lara Mini: Gated DeltaNet, and attention that slides and rotates or sees everything and does not;
// experts beside a shared one in every layer. Mirroring transformers 5.24
// models/lara_mini/modular_lara_mini.py.
#include <array>
#include <optional>
#include <utility>

#include "family/facts.h"
#include "family/parts/attention_steps.h"
#include "family/parts/deepseek_moe.h"
#include "family/parts/delta_net_layer.h"
#include "family/parts/mamba2_mixer.h"
#include "family/parts/rms_norms.h"
#include "ghost/ops/reductions.h"
#include "ghost/ops/sorting.h"
#include "nn/parametrize.h"

namespace memtape::family {
namespace {

constexpr DeltaNetHeads kLaraMiniHeads{.keys = 8, .values = 16};

/// The published pattern, which comes again every five layers.
std::optional<LayerType> lara_mini_type(std::int64_t layer) {
  constexpr std::array<std::optional<LayerType>, 5> kPattern{
      std::nullopt, LayerType::sliding_attention, std::nullopt, LayerType::full_attention,
      LayerType::sliding_attention};
  return kPattern[static_cast<std::size_t>(layer) % kPattern.size()];
}

struct LaraMiniConfig : MoeConfig {
  LaraMiniConfig(const Config& c, const ModelOptions& options)
      : MoeConfig(c, options,
                  {.vocab_size = 151936,
                   .hidden_size = 1024,
                   .num_hidden_layers = 34,
                   .num_attention_heads = 16,
                   .num_key_value_heads = 4,
                   .head_dim = 128,
                   .tie_word_embeddings = true},
                  {.num_experts = 128, .num_experts_per_tok = 4, .intermediate_size = 512}),
        types(read_mixed_layer_types(c, num_hidden_layers, "linear_attention", lara_mini_type)),
        delta_net(c, hidden_size, hidden_act, kLaraMiniHeads),
        shared_expert_intermediate_size(c.dimension("shared_expert_intermediate_size", 512)) {
    norm_topk_prob = c.boolean("norm_topk_prob", true);
    qkv_bias = o_bias = c.boolean("attention_bias", false);
    sliding_window = c.dimension("sliding_window", 512);
    layer_types = attending_types(types);
    masks_by_layer_type = true;
    delta_net.weighs_in_float32 = true;
  }
  bool is_linear(std::int64_t layer) const { return !types[static_cast<std::size_t>(layer)]; }

  MixedLayerTypes types;
  GatedDeltaNetConfig delta_net;
  std::int64_t shared_expert_intermediate_size;
};

/// Qwen3-Next's, whose logits are computed in float32.
class LaraMiniTopKRouter : public nn::Module<LaraMiniTopKRouter> {
 public:
  LaraMiniTopKRouter(const nn::Scope& scope, const MoeConfig& c)
      : Module(scope),
        top_k_(c.num_experts_per_tok),
        normalizes_(c.norm_topk_prob),
        weight_(scope.parameter("weight", {c.num_experts, c.hidden_size})) {}

  Routing forward(const Tensor& x) {
    const nn::Parametrized weight(node(), weight_);
    const Tensor hidden_states = x.reshape({-1, x.size(-1)});
    Tensor router_logits = float32_router_logits(hidden_states, weight_);
    const Tensor router_probs = ghost::softmax(router_logits, DType::float32);
    auto [router_top_value, router_indices] = ghost::topk(router_probs, top_k_);
    if (normalizes_) router_top_value = router_top_value.div(router_top_value.sum(-1, true));
    Tensor router_scores = router_top_value.to(hidden_states.dtype());
    RouterLogits::record(router_logits);
    return {std::move(router_logits), std::move(router_scores), std::move(router_indices)};
  }

 private:
  std::int64_t top_k_;
  bool normalizes_;
  Tensor weight_;
};

/// Layers that do not slide get no cos and sin.
struct LaraMiniRotary : RotaryEmbedding {
  using RotaryEmbedding::RotaryEmbedding;
  LayerCosSin operator()(const Tensor& x, const Tensor& position_ids) {
    return {{}, RotaryEmbedding::operator()(x, position_ids)};
  }
};

struct LaraMiniParts : MoeParts {
  using Settings = LaraMiniConfig;
  using Rotary = LaraMiniRotary;
  using DecoderLayer =
      DeltaNetDecoderLayer<AttentionOf<RotatedIfSliding<HeliumRMSNorm>>,
                           UngatedSharedExpertMoeBlock<LaraMiniTopKRouter>, HeliumRMSNorm>;
  using Norm = HeliumRMSNorm;
  static int layer_kind(const LaraMiniConfig& c, std::size_t layer) {
    const auto index = static_cast<std::int64_t>(layer);
    return c.is_linear(index) ? 2 : static_cast<int>(c.layer_type(index));
  }
  static LayerMasks make_masks(const LaraMiniConfig& c, const Tensor& attention_mask,
                               const Tensor& inputs_embeds, const Tensor& position_ids) {
    LayerMasks masks = create_layer_masks(c, attention_mask, inputs_embeds, position_ids);
    create_recurrent_attention_mask(attention_mask, inputs_embeds.size(1));
    return masks;
  }
};

ModelPointer build_lara_mini(const Config& c, const ModelOptions& options) {
  return build_checked<MoeForCausalLM<LaraMiniParts>>(c, LaraMiniConfig(c, options), options);
}

}  // namespace

extern const FamilyFacts kLaraMini{.model_type = "lara_mini",
                                   .first = {5, 24, 0},
                                   .ties_head = Known::yes,
                                   .has_bos = Known::no,
                                   .modeling = with_scans(kDecoder),
                                   .build = build_lara_mini};

}  // namespace memtape::family
