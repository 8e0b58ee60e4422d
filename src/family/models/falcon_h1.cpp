// SPDX-License-Identifier: Apache-2.0
// Falcon-H1: in each layer Mamba 2's mixer and attention side by side, and numbers that multiply
// what goes into and comes out of everything; mirroring transformers 5.17
// models/falcon_h1/modeling_falcon_h1.py.
#include "family/facts.h"
#include "family/parts/attention_of.h"
#include "family/parts/forward_arguments.h"
#include "family/parts/hybrid_for_causal_lm.h"
#include "family/parts/mamba2_mixer.h"
#include "ghost/ops/creation.h"
#include "release/hybrid_changes.h"

namespace memtape::family {
namespace {

constexpr double kFalconMultiplier = 1.0;  // what the numbers are changes no byte

struct FalconH1Config : DecoderConfig {
  FalconH1Config(const Config& c, const ModelOptions& options)
      : DecoderConfig(c, options,
                      {.vocab_size = 128000, .intermediate_size = 14336, .num_key_value_heads = 8}),
        mixer(read_mixer(c)) {
    qkv_bias = o_bias = c.boolean("attention_bias", false);
    mlp_bias = c.boolean("mlp_bias", false);
  }

  bool attends(std::int64_t) const { return true; }

  Mamba2MixerConfig mixer;

 private:
  Mamba2MixerConfig read_mixer(const Config& c) const {
    const bool expands = c.has("mamba_d_ssm") && c.is_null("mamba_d_ssm");
    const std::int64_t inner =
        expands ? c.dimension("mamba_expand", 2) * hidden_size : c.dimension("mamba_d_ssm", 1024);
    Mamba2MixerConfig config = bamba_mixer_config(c, hidden_size, inner, hidden_act);
    config.norm_group_size = config.intermediate_size / config.n_groups;
    config.use_out_bias = c.boolean("projectors_bias", false);
    config.is_multiplied = true;
    config.gate = MixerGate::alone;
    if (c.boolean("mamba_rms_norm", false))
      config.gate = c.boolean("mamba_norm_before_gate", true) ? MixerGate::behind_norm
                                                              : MixerGate::before_norm;
    return config;
  }
};

/// Keys by key_multiplier.
struct FalconH1Steps : Rotated<apply_rotary_pos_emb> {
  using Rotated::Rotated;
  Tensor transposed_key(const Tensor& k) const { return k.mul(kFalconMultiplier); }
};

class FalconH1MLP : public nn::Module<FalconH1MLP> {
 public:
  FalconH1MLP(const nn::Scope& scope, const FalconH1Config& c)
      : Module(scope),
        gate_proj_(scope / "gate_proj", c.hidden_size, c.intermediate_size, c.mlp_bias),
        up_proj_(scope / "up_proj", c.hidden_size, c.intermediate_size, c.mlp_bias),
        down_proj_(scope / "down_proj", c.intermediate_size, c.hidden_size, c.mlp_bias),
        act_fn_(c.hidden_act) {}

  Tensor forward(const Tensor& x) {
    Tensor up = up_proj_(x);
    Tensor y = std::move(up).mul(act_fn_(gate_proj_(x).mul(kFalconMultiplier)));
    y = down_proj_(y).mul(kFalconMultiplier);
    return y;
  }

 private:
  nn::Linear gate_proj_, up_proj_, down_proj_;
  nn::Activation act_fn_;
};

class FalconH1DecoderLayer : public nn::GradientCheckpointingLayer<FalconH1DecoderLayer> {
 public:
  FalconH1DecoderLayer(const nn::Scope& scope, const FalconH1Config& c, nn::ListIndex layer)
      : GradientCheckpointingLayer(scope),
        feed_forward_(scope / "feed_forward", c),
        mamba(scope / "mamba", c.mixer),
        self_attn_(scope / "self_attn", c, layer),
        input_layernorm_(scope / "input_layernorm", c.hidden_size),
        pre_ff_layernorm_(scope / "pre_ff_layernorm", c.hidden_size) {}

  Tensor forward(const Tensor& x, const Tensor& attention_mask, const CosSin& position_embeddings,
                 const Tensor&) {
    Tensor residual = x;
    Tensor hidden_states = input_layernorm_(x);
    Tensor mamba_hidden_states = mamba(hidden_states, Tensor());
    mamba_hidden_states = mamba_hidden_states.mul(kFalconMultiplier);
    Tensor attention_hidden_states =
        self_attn_(hidden_states.mul(kFalconMultiplier), attention_mask, position_embeddings);
    attention_hidden_states = attention_hidden_states.mul(kFalconMultiplier);
    hidden_states = mamba_hidden_states.add(attention_hidden_states);
    hidden_states = residual.add(hidden_states);
    residual = hidden_states;
    hidden_states = pre_ff_layernorm_(hidden_states);
    hidden_states = feed_forward_(hidden_states);
    return residual.add(hidden_states);
  }

 private:
  FalconH1MLP feed_forward_;

 public:
  Mamba2Mixer mamba;

 private:
  AttentionOf<FalconH1Steps> self_attn_;
  LlamaRMSNorm input_layernorm_, pre_ff_layernorm_;
};

struct FalconH1Parts {
  using Settings = FalconH1Config;
  using DecoderLayer = FalconH1DecoderLayer;
  static constexpr const char* kNorm = "final_layernorm";
  static constexpr Rotary kRotary = Rotary::after_norm;
  static constexpr const Change& kMasksSharedSince = changes::kBambaMasksAreShared;
  static Tensor position_ids(const Tensor& x) { return position_ids_for(x); }
  static void scale_embeddings(Tensor& inputs_embeds) {
    inputs_embeds = inputs_embeds.mul(kFalconMultiplier);
  }
  static void scale_logits(Tensor& logits) { logits = logits.mul(kFalconMultiplier); }

  /// compute_mup_vector, a copy for each layer.
  static void register_buffers(nn::ModuleList<FalconH1DecoderLayer>& layers,
                               const FalconH1Config& c, DType dtype) {
    const Tensor mup_vector = ghost::ones({1, 1, c.mixer.projection_size()}, dtype);
    for (FalconH1DecoderLayer& layer : layers) layer.mamba.register_mup_vector(mup_vector);
  }
  static void init_weights(const FalconH1DecoderLayer&, const FalconH1Config& c, DType dtype) {
    init_decays(c.mixer, dtype);
  }
};

ModelPointer build_falcon_h1(const Config& c, const ModelOptions& options) {
  return build_checked<HybridForCausalLM<FalconH1Parts>>(c, FalconH1Config(c, options), options);
}

}  // namespace

extern const FamilyFacts kFalconH1{.model_type = "falcon_h1",
                                   .first = {4, 53, 0},
                                   .ties_head = Known::no,
                                   .has_bos = Known::yes,
                                   .modeling = with_scans(kDecoder),
                                   .build = build_falcon_h1};

}  // namespace memtape::family
