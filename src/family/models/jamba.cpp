// SPDX-License-Identifier: Apache-2.0
// Jamba: layers of Mamba's mixer, every eighth of attention without a rope instead, and experts in
// place of every second MLP; mirroring transformers 5.17 models/jamba/modular_jamba.py.
#include <optional>

#include "family/facts.h"
#include "family/parts/attention_of.h"
#include "family/parts/hybrid_for_causal_lm.h"
#include "family/parts/llama_layer.h"
#include "family/parts/mamba_mixer.h"
#include "family/parts/moe_decoder.h"
#include "ghost/ops/reductions.h"
#include "ghost/ops/sorting.h"
#include "release/family_changes.h"

namespace memtape::family {
namespace {

struct JambaConfig : MoeConfig {
  JambaConfig(const Config& c, const ModelOptions& options)
      : MoeConfig(c, options,
                  {.vocab_size = 65536, .intermediate_size = 14336, .num_key_value_heads = 8},
                  {.experts_key = {"num_experts", "num_local_experts"},
                   .num_experts = 16,
                   .num_experts_per_tok = 2,
                   .intermediate_key = "intermediate_size",
                   .intermediate_size = 14336}),
        expert_period(c.dimension("expert_layer_period", 2)),
        expert_offset(c.count("expert_layer_offset", 1)),
        attention_period(c.dimension("attn_layer_period", 8)),
        attention_offset(c.count("attn_layer_offset", 4)),
        mixer{.hidden_size = hidden_size,
              .intermediate_size = c.dimension("mamba_expand", 2) * hidden_size,
              .state_size = c.dimension("mamba_d_state", 16),
              .conv_kernel = c.dimension("mamba_d_conv", 4),
              .time_step_rank = time_step_rank(c),
              .use_bias = c.boolean("mamba_proj_bias", false),
              .use_conv_bias = c.boolean("mamba_conv_bias", true),
              .activation = hidden_act,
              .norms = ScanNorms::rms} {
    loop = LoopBefore5::all;
    if (attention_offset >= attention_period)
      c.fail("attn_layer_offset", "must be less than attn_layer_period");
    if (expert_offset >= expert_period)
      c.fail("expert_layer_offset", "must be less than expert_layer_period");
  }

  bool attends(std::int64_t layer) const { return layer % attention_period == attention_offset; }
  bool has_experts(std::int64_t layer) const {
    return num_experts > 1 && layer % expert_period == expert_offset;
  }

  std::int64_t expert_period, expert_offset, attention_period, attention_offset;
  MambaMixerConfig mixer;

 private:
  std::int64_t time_step_rank(const Config& c) const {
    if (!c.has("mamba_dt_rank") || c.json("mamba_dt_rank") == "\"auto\"")
      return ceil_div(hidden_size, std::int64_t{16});
    return c.dimension("mamba_dt_rank");
  }
};

struct NoRope {
  static constexpr const Change& kInterfaceSince = changes::kOlderMixturesCallTheInterface;
  NoRope(const nn::Scope&, const DecoderConfig&, std::int64_t) {}
  void operator()(Tensor&, Tensor&, const CosSin&) const {}
};

class JambaSparseMoeBlock : public nn::Module<JambaSparseMoeBlock> {
 public:
  JambaSparseMoeBlock(const nn::Scope& scope, const JambaConfig& c)
      : Module(scope),
        top_k_(c.num_experts_per_tok),
        router_(scope / "router", c.hidden_size, c.num_experts, false),
        experts_(scope / "experts", c) {}

  Tensor forward(const Tensor& x) {
    Tensor hidden_states = x.view({-1, x.size(-1)});
    const Tensor router_logits = router_(hidden_states);
    RouterLogits::record(router_logits);
    const auto [top_k_index, top_k_weights] = route(hidden_states, router_logits);
    hidden_states = experts_(hidden_states, top_k_index, top_k_weights);
    return hidden_states.reshape(x.sizes());
  }

 private:
  std::pair<Tensor, Tensor> route(const Tensor& hidden_states, const Tensor& router_logits) const {
    const Tensor routing_weights = ghost::softmax(router_logits, DType::float32);
    auto [top_k_weights, top_k_index] = ghost::topk(routing_weights, top_k_);
    return {top_k_index, top_k_weights.to(hidden_states.dtype())};
  }

  std::int64_t top_k_;
  nn::Linear router_;
  Experts experts_;
};

class JambaDecoderLayer : public nn::GradientCheckpointingLayer<JambaDecoderLayer> {
 public:
  JambaDecoderLayer(const nn::Scope& scope, const JambaConfig& c, nn::ListIndex layer)
      : GradientCheckpointingLayer(scope) {
    if (c.attends(layer))
      self_attn_.emplace(scope / "self_attn", c, layer);
    else
      mamba.emplace(scope / "mamba", c.mixer);
    if (c.has_experts(layer))
      experts_.emplace(scope / "feed_forward", c);
    else
      mlp_.emplace(scope / "feed_forward", c);
    input_layernorm_.emplace(scope / "input_layernorm", c.hidden_size);
    pre_ff_layernorm_.emplace(scope / "pre_ff_layernorm", c.hidden_size);
  }

  Tensor forward(const Tensor& x, const Tensor& attention_mask, const CosSin&, const Tensor&) {
    Tensor residual = x;
    Tensor hidden_states = (*input_layernorm_)(x);
    hidden_states = self_attn_ ? (*self_attn_)(hidden_states, attention_mask, CosSin())
                               : (*mamba)(hidden_states, attention_mask);
    hidden_states = residual.add(hidden_states);
    residual = hidden_states;
    hidden_states = (*pre_ff_layernorm_)(hidden_states);
    hidden_states = experts_ ? (*experts_)(hidden_states) : (*mlp_)(hidden_states);
    return residual.add(hidden_states);
  }

 private:
  std::optional<AttentionOf<NoRope>> self_attn_;

 public:
  std::optional<MambaMixer> mamba;

 private:
  std::optional<JambaSparseMoeBlock> experts_;
  std::optional<LlamaMLP> mlp_;
  std::optional<LlamaRMSNorm> input_layernorm_, pre_ff_layernorm_;
};

struct JambaParts {
  static constexpr bool kBalancesLoad = true;
  using Settings = JambaConfig;
  using DecoderLayer = JambaDecoderLayer;
  static constexpr const char* kNorm = "final_layernorm";
  static constexpr Rotary kRotary = Rotary::none;
  static Tensor position_ids(const Tensor& x) { return position_ids_for(x); }
  static void init_weights(JambaDecoderLayer& layer, const JambaConfig&, DType) {
    if (layer.mamba) layer.mamba->init_weights();
  }
};

ModelPointer build_jamba(const Config& c, const ModelOptions& options) {
  return build_checked<HybridForCausalLM<JambaParts>>(c, JambaConfig(c, options), options);
}

}  // namespace

extern const FamilyFacts kJamba{.model_type = "jamba",
                                .ties_head = Known::no,
                                .has_bos = Known::yes,
                                .modeling = with_scans(kDecoder),
                                .classifiers = {.sequences = true},
                                .build = build_jamba};

}  // namespace memtape::family
