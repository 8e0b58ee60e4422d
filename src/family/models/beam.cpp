// SPDX-License-Identifier: Apache-2.0
// Beam: gated attention that rotates where it slides and scales its queries by their positions
// where it does not, residuals scaled by depth, experts by groups with gates in float32, and capped
// logits; mirroring transformers 5.24 models/beam/modular_beam.py.
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "family/facts.h"
#include "family/parts/attention_of.h"
#include "family/parts/deepseek_moe.h"
#include "family/parts/rms_norms.h"
#include "ghost/ops/logarithms.h"
#include "ghost/ops/pointwise.h"

namespace memtape::family {
namespace {

struct BeamConfig : DeepseekMoeConfig {
  BeamConfig(const Config& c, const ModelOptions& options)
      : DeepseekMoeConfig(
            c, options,
            {.vocab_size = 151936,
             .hidden_size = 5120,
             .intermediate_size = 20480,
             .num_hidden_layers = 52,
             .num_attention_heads = 48,
             .num_key_value_heads = 8,
             .head_dim = 128},
            {.num_experts = 256, .num_experts_per_tok = 8, .intermediate_size = 2560}),
        sparse_layers(read_mlp_layer_types(c, num_hidden_layers, 3)),
        caps_logits(c.has("final_logit_softcapping")
                        ? c.optional_number("final_logit_softcapping").has_value()
                        : true) {
    norm_topk_prob = c.boolean("norm_topk_prob", true);
    float32_correction_bias = true;
    scales_weights = false;
    read_groups_of_two_best(c, 8, 4);
    qkv_bias = o_bias = c.boolean("attention_bias", false);
    sliding_window = c.has("sliding_window") ? c.optional_dimension("sliding_window") : 512;
    layer_types = read_layer_types(c, num_hidden_layers, [](std::int64_t layer) {
      return (layer + 1) % 6 != 0 ? LayerType::sliding_attention : LayerType::full_attention;
    });
    if (c.is_null("layer_types")) layer_types.back() = LayerType::full_attention;
    masks_by_layer_type = true;
    check_sliding_window(c, *this);
    read_ropes(c);
  }
  bool has_experts(std::int64_t layer) const {
    return sparse_layers[static_cast<std::size_t>(layer)];
  }
  bool rotates(LayerType type) const {
    for (const LayerRopes::Of& of : ropes.types)
      if (of.type == type) return true;
    return false;
  }

  std::vector<bool> sparse_layers;
  bool caps_logits;
  LayerRopes ropes;  ///< without those types that have null in their place

 private:
  void read_ropes(const Config& c) {
    const Config by_type = c.object("rope_parameters");
    for (LayerRopes::Of& of : layer_ropes(c, head_dim, layer_types).types) {
      const bool is_full = of.type == LayerType::full_attention;
      if (c.is_null("rope_parameters")
              ? is_full
              : by_type.is_null(is_full ? "full_attention" : "sliding_attention"))
        continue;
      of.rope.keeps_float32 = true;
      ropes.types.push_back(of);
    }
  }
};

/// cos and sin for layers of a type with a rope; for the others what scales their queries, as first
/// of the two.
class BeamPositions : public nn::Module<BeamPositions> {
 public:
  BeamPositions(const nn::Scope& scope, const BeamConfig& c)
      : Module(scope),
        scales_full_(!c.rotates(LayerType::full_attention)),
        scales_sliding_(!c.rotates(LayerType::sliding_attention) && c.has_sliding_layers()),
        rotary_emb_(scope, c.ropes) {}

  LayerCosSin forward(const Tensor& x, const Tensor& position_ids) {
    Tensor of_full, of_sliding;
    if (scales_full_) of_full = attention_scaling(position_ids);
    LayerCosSin all = rotary_emb_.forward(x, position_ids);
    if (scales_sliding_) of_sliding = attention_scaling(position_ids);
    if (scales_full_) all.full_attention.first = std::move(of_full);
    if (scales_sliding_) all.sliding_attention.first = std::move(of_sliding);
    return all;
  }
  void init_weights() const { rotary_emb_.init_weights(); }

 private:
  /// compute_attention_scaling
  static Tensor attention_scaling(const Tensor& position_ids) {
    const Tensor logarithm = ghost::log1p(position_ids.to_float().add(1.0).div(2048.0)).mul(0.1);
    return ghost::exp(logarithm).unsqueeze(1).unsqueeze(-1);
  }

  bool scales_full_, scales_sliding_;
  LayerTypeRotaryEmbedding rotary_emb_;
};

struct BeamSteps {
  BeamSteps(const nn::Scope& scope, const BeamConfig& c, std::int64_t layer)
      : norms(scope, c),
        gate_proj(scope / "gate_proj", c.hidden_size, c.num_attention_heads * c.head_dim, false),
        gate_bias(scope.parameter("gate_bias", {c.num_attention_heads})),
        rotates(c.rotates(c.layer_type(layer))) {}
  Tensor query_heads(const Tensor& q) { return norms.q_norm(q); }
  Tensor key_heads(const Tensor& k) { return norms.k_norm(k); }
  void operator()(Tensor& q, Tensor& k, const CosSin& position_embeddings) const {
    if (rotates)
      std::tie(q, k) = apply_rotary_pos_emb_in_float(q, k, position_embeddings);
    else
      q = q.to_float().mul(position_embeddings.first).to(q.dtype());
  }
  Tensor gated(const Tensor& attn_output, const Tensor& hidden_states) {
    gate = gate_proj(hidden_states)
               .view(attn_output.sizes())
               .add(gate_bias.unsqueeze(0).unsqueeze(0).unsqueeze(-1));
    return attn_output.mul(ghost::sigmoid(gate));
  }
  void finish(Tensor&) { gate.reset(); }
  HeadNorms<Olmo2RMSNorm> norms;
  nn::Linear gate_proj;
  Tensor gate_bias;
  bool rotates;
  Tensor gate;  ///< held until attention returns
};

/// act_fn(gate.float()) * up.float(), back in the gate's dtype.
Tensor beam_gated(const Tensor& gate, const Tensor& up, const nn::Activation& act_fn) {
  return act_fn(gate.to_float()).mul(up.to_float()).to(gate.dtype());
}

/// BeamExperts._apply_gate
Tensor beam_gate(const Tensor& gate_up, const nn::Activation& act_fn) {
  const std::vector<Tensor> halves = gate_up.chunk(2, -1);
  return beam_gated(halves[0], halves[1], act_fn);
}

class BeamMLP : public nn::Module<BeamMLP> {
 public:
  BeamMLP(const nn::Scope& scope, const DecoderConfig& c)
      : Module(scope),
        gate_proj_(scope / "gate_proj", c.hidden_size, c.intermediate_size, false),
        up_proj_(scope / "up_proj", c.hidden_size, c.intermediate_size, false),
        down_proj_(scope / "down_proj", c.intermediate_size, c.hidden_size, false),
        act_fn_(c.hidden_act) {}

  Tensor forward(const Tensor& x) {
    const Tensor gate = gate_proj_(x);
    const Tensor up = up_proj_(x);
    const Tensor activated = beam_gated(gate, up, act_fn_);
    return down_proj_(activated);
  }

 private:
  nn::Linear gate_proj_, up_proj_, down_proj_;
  nn::Activation act_fn_;
};

class BeamMoE : public nn::Module<BeamMoE> {
 public:
  BeamMoE(const nn::Scope& scope, const BeamConfig& c)
      : Module(scope),
        experts_(scope / "experts", c, {.apply_gate = beam_gate}),
        gate_(scope / "gate", c) {}

  Tensor forward(const Tensor& x) {
    const Tensor hidden_states_reshaped = x.view({-1, x.size(-1)});
    const Routing routing = gate_(hidden_states_reshaped);
    Tensor final_hidden_states = experts_(hidden_states_reshaped, routing.indices, routing.weights);
    final_hidden_states = final_hidden_states.mul(ghost::kScale);  // routed_scaling_factor
    return final_hidden_states.reshape(x.sizes());
  }

 private:
  Experts experts_;
  DeepseekV3TopkRouter gate_;
};

/// depth_scaled_residual_add
Tensor depth_scaled_add(const Tensor& hidden_states, const Tensor& residual) {
  return hidden_states.mul(2.0).add(residual.mul(2.0));
}

class BeamDecoderLayer : public nn::GradientCheckpointingLayer<BeamDecoderLayer> {
 public:
  BeamDecoderLayer(const nn::Scope& scope, const BeamConfig& c, nn::ListIndex layer)
      : GradientCheckpointingLayer(scope),
        self_attn_(scope / "self_attn", c, layer),
        mlp_(scope / "mlp", c, layer),
        input_layernorm_(scope / "input_layernorm", c.hidden_size),
        post_attention_layernorm_(scope / "post_attention_layernorm", c.hidden_size),
        pre_feedforward_layernorm_(scope / "pre_feedforward_layernorm", c.hidden_size),
        post_feedforward_layernorm_(scope / "post_feedforward_layernorm", c.hidden_size) {}

  Tensor forward(const Tensor& x, const Tensor& attention_mask, const CosSin& position_embeddings,
                 const Tensor&) {
    Tensor residual = x;
    Tensor hidden_states = input_layernorm_(x);
    hidden_states = self_attn_(hidden_states, attention_mask, position_embeddings);
    hidden_states = post_attention_layernorm_(hidden_states);
    hidden_states = depth_scaled_add(hidden_states, residual);

    residual = hidden_states;
    hidden_states = pre_feedforward_layernorm_(hidden_states);
    hidden_states = mlp_(hidden_states);
    hidden_states = post_feedforward_layernorm_(hidden_states);
    hidden_states = depth_scaled_add(hidden_states, residual);
    return hidden_states;
  }

 private:
  AttentionOf<BeamSteps> self_attn_;
  MaybeSparseMlp<BeamMoE, BeamMLP> mlp_;
  Olmo2RMSNorm input_layernorm_, post_attention_layernorm_, pre_feedforward_layernorm_,
      post_feedforward_layernorm_;
};

struct BeamParts : MoeParts {
  using Settings = BeamConfig;
  using DecoderLayer = BeamDecoderLayer;
  using Norm = Olmo2RMSNorm;
  using Rotary = BeamPositions;
  static const BeamConfig& rope(const BeamConfig& c) { return c; }
  static int layer_kind(const BeamConfig& c, std::size_t layer) {
    const auto index = static_cast<std::int64_t>(layer);
    return 2 * static_cast<int>(c.layer_type(index)) + (c.has_experts(index) ? 1 : 0);
  }
  static void cap_logits(Tensor& logits, const BeamConfig& c) {
    if (!c.caps_logits) return;
    logits = logits.to_float().div(30.0);
    logits = ghost::tanh(logits);
    logits = logits.mul(30.0);
  }
};

ModelPointer build_beam(const Config& c, const ModelOptions& options) {
  return build_checked<DecoderForCausalLM<BeamParts>>(c, BeamConfig(c, options), options);
}

}  // namespace

extern const FamilyFacts kBeam{.model_type = "beam",
                               .first = {5, 21, 0},
                               .ties_head = Known::no,
                               .has_bos = Known::no,
                               .modeling = kDecoder,
                               .classifiers = {.tokens = true},
                               .build = build_beam};

}  // namespace memtape::family
