// SPDX-License-Identifier: Apache-2.0
// StableLM: layer norms, rotation of a part of each head, norms per head on q and k where asked
// for, and attention and MLP that may lie side by side; mirroring transformers 5.17
// models/stablelm/modeling_stablelm.py.
#include <memory>
#include <optional>

#include "family/facts.h"
#include "family/parts/config_checks.h"
#include "family/parts/late_shared_mask.h"
#include "family/parts/llama_layer.h"
#include "ghost/ops/joins.h"
#include "ghost/session.h"
#include "release/transformers_4_changes.h"

namespace memtape::family {
namespace {

struct StableLmConfig : DecoderConfig {
  StableLmConfig(const Config& c, const ModelOptions& options)
      : DecoderConfig(c, options,
                      {.vocab_size = 50304,
                       .hidden_size = 2560,
                       .intermediate_size = 6912,
                       .num_key_value_heads = 32}),
        qk_layernorm(c.boolean("qk_layernorm", false)),
        use_parallel_residual(c.boolean("use_parallel_residual", false)),
        hidden_dropout(c.number("hidden_dropout", 0.0)) {
    check_divides(c, "num_attention_heads", num_attention_heads, hidden_size);
    head_dim = hidden_size / num_attention_heads;
    qkv_bias = c.boolean("use_qkv_bias", false);
    rope = rope_parameters(c, head_dim, "partial_rotary_factor", 0.25);
  }
  bool qk_layernorm, use_parallel_residual;
  double hidden_dropout;
};

/// A layer norm of its own for every head.
class StableLmLayerNormPerHead : public nn::Module<StableLmLayerNormPerHead> {
 public:
  StableLmLayerNormPerHead(const nn::Scope& scope, std::int64_t dim, std::int64_t num_heads)
      : Module(scope), norms_(scope / "norms", num_heads, dim, false, true) {}

  Tensor forward(const Tensor& hidden_states) {
    const std::vector<Tensor> states_per_heads = hidden_states.chunk(hidden_states.size(1), 1);
    std::vector<Tensor> normed;
    std::size_t head = 0;
    for (nn::LayerNorm& norm : norms_) normed.push_back(norm(states_per_heads[head++]));
    return ghost::cat(normed, 1);
  }

 private:
  nn::ModuleList<nn::LayerNorm> norms_;
};

struct StableLmSteps {
  static constexpr const Change& kInterfaceSince = changes::kAllRopesAreShared;
  static constexpr bool kAddedMaskInPlace = true;
  StableLmSteps(const nn::Scope& scope, const StableLmConfig& c, std::int64_t) {
    if (!ghost::has(changes::kAllRopesAreShared)) rotary_emb.emplace(scope / "rotary_emb", c.rope);
    if (!c.qk_layernorm) return;
    q_layernorm.emplace(scope / "q_layernorm", c.head_dim, c.num_attention_heads);
    k_layernorm.emplace(scope / "k_layernorm", c.head_dim, c.num_key_value_heads);
  }
  void projected(Tensor&, Tensor&, Tensor&) const {}
  PartlyRotated operator()(Tensor& q, Tensor& k, const CosSin& cos_sin) {
    if (q_layernorm) {
      q = (*q_layernorm)(q);
      k = (*k_layernorm)(k);
    }
    return rotate_part_in_place(q, k, cos_sin);
  }
  std::optional<StableLmLayerNormPerHead> q_layernorm, k_layernorm;
  std::optional<RotaryEmbedding> rotary_emb;
};

class StableLmDecoderLayer : public nn::GradientCheckpointingLayer<StableLmDecoderLayer> {
 public:
  StableLmDecoderLayer(const nn::Scope& scope, const StableLmConfig& c)
      : GradientCheckpointingLayer(scope),
        self_attn_(scope / "self_attn", c),
        mlp_(scope / "mlp", c),
        input_layernorm_(scope / "input_layernorm", c.hidden_size),
        dropout_(scope / "dropout", c.hidden_dropout) {
    if (!c.use_parallel_residual)
      post_attention_layernorm_ =
          std::make_unique<nn::LayerNorm>(scope / "post_attention_layernorm", c.hidden_size);
  }

  Tensor forward(const Tensor& x, const Tensor& attention_mask, const CosSin& position_embeddings,
                 const Tensor&) {
    Tensor residual = x;
    const Tensor hidden_states = input_layernorm_(x);
    const Tensor self_attn_output = self_attn_(hidden_states, attention_mask, position_embeddings);
    if (!post_attention_layernorm_) {
      Tensor mlp_output = mlp_(hidden_states);
      mlp_output = dropout_(mlp_output);
      return residual.add(self_attn_output).add(mlp_output);
    }
    residual = residual.add(self_attn_output);
    Tensor mlp_output = mlp_((*post_attention_layernorm_)(residual));
    mlp_output = dropout_(mlp_output);
    return residual.add(mlp_output);
  }

 private:
  AttentionOf<StableLmSteps> self_attn_;
  LlamaMLP mlp_;
  nn::LayerNorm input_layernorm_;
  std::unique_ptr<nn::LayerNorm> post_attention_layernorm_;
  nn::Dropout dropout_;
};

struct StableLmParts : LateSharedMask {
  using Settings = StableLmConfig;
  using DecoderLayer = StableLmDecoderLayer;
  using Norm = nn::LayerNorm;
};

ModelPointer build_stablelm(const Config& c, const ModelOptions& options) {
  return build_checked<DecoderForCausalLM<StableLmParts>>(c, StableLmConfig(c, options), options);
}

}  // namespace

extern const FamilyFacts kStablelm{
    .model_type = "stablelm",
    .ties_head = Known::no,
    .has_bos = Known::yes,
    .modeling = kDecoder,
    .classifiers = {.sequences = true, .tokens = true, .hidden_dropout = 0.0},
    .build = build_stablelm};

}  // namespace memtape::family
