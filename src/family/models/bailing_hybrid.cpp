// SPDX-License-Identifier: Apache-2.0
// Ling 3: Kimi Delta Attention, and every sixth layer with gated latent attention; experts chosen
// among groups beside shared ones, in the first layers an MLP. Mirroring transformers 5.24
// models/bailing_hybrid/modular_bailing_hybrid.py.
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "family/caches/key_value_cache.h"
#include "family/facts.h"
#include "family/parts/deepseek.h"
#include "family/parts/kimi_delta_rule.h"
#include "family/parts/mamba2_mixer.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/pointwise.h"
#include "nn/convolution.h"

namespace memtape::family {
namespace {

struct BailingHybridConfig : DeepseekConfig {
  BailingHybridConfig(const Config& c, const ModelOptions& options)
      : DeepseekConfig(c, options,
                       {.vocab_size = 157184,
                        .hidden_size = 2560,
                        .intermediate_size = 6144,
                        .num_hidden_layers = 42,
                        .num_attention_heads = 32,
                        .num_key_value_heads = 32},
                       {.experts_key = {"num_experts", "num_local_experts"},
                        .num_experts = 512,
                        .num_experts_per_tok = 8,
                        .intermediate_size = 768,
                        .experts_per_tok_key = {"num_experts_per_token", "num_experts_per_tok"}}),
        linear_head_dim(c.dimension({"linear_head_dim", "head_dim"}, 128)),
        conv_kernel(c.dimension({"linear_conv_kernel_dim", "short_conv_kernel_size"}, 4)),
        safe_gate(c.boolean("kda_safe_gate", true)),
        linear(linear_layers_of(c)),
        sparse_layers(
            read_mlp_layer_types(c, num_hidden_layers, c.count("first_k_dense_replace", 2))) {
    if (!c.has("q_lora_rank")) q_lora_rank.reset();
    gates_heads = true;
    float32_correction_bias = true;
    n_shared_experts = c.dimension({"num_shared_experts", "n_shared_experts"}, 1);
    norm_topk_prob = c.boolean("moe_renormalize", c.boolean("norm_topk_prob", true));
    read_groups_of_two_best(c, c.dimension("num_expert_group", 8), 4);
  }
  bool is_linear(std::int64_t layer) const { return linear[static_cast<std::size_t>(layer)]; }
  bool has_experts(std::int64_t layer) const {
    return sparse_layers[static_cast<std::size_t>(layer)];
  }

  std::int64_t linear_head_dim, conv_kernel;
  bool safe_gate;
  std::vector<bool> linear, sparse_layers;

 private:
  std::vector<bool> linear_layers_of(const Config& c) const {
    const MixedLayerTypes named =
        read_mixed_layer_types(c, num_hidden_layers, "linear_attention",
                               [](std::int64_t) { return std::optional<LayerType>(); });
    const std::int64_t every = c.dimension("layer_group_size", 6);
    std::vector<bool> layers;
    for (std::int64_t i = 0; i < num_hidden_layers; ++i)
      layers.push_back(c.is_null("layer_types") ? (i + 1) % every != 0
                                                : !named[static_cast<std::size_t>(i)]);
    return layers;
  }
};

class BailingForgetGate : public nn::Module<BailingForgetGate> {
 public:
  BailingForgetGate(const nn::Scope& scope, const BailingHybridConfig& c)
      : Module(scope),
        heads_(c.num_attention_heads),
        head_dim_(c.linear_head_dim),
        is_safe_(c.safe_gate),
        a_log_(scope.parameter("A_log", {heads_}, DType::float32)),
        dt_bias_(scope.parameter("dt_bias", {heads_ * head_dim_}, DType::float32)),
        f_proj_(scope / "f_proj", c.hidden_size, heads_ * head_dim_, false) {}

  Tensor forward(const Tensor& hidden_states) {
    const Dims hidden_shape{hidden_states.size(0), hidden_states.size(1), heads_, head_dim_};
    Tensor gate_input = f_proj_(hidden_states).to_float().view(hidden_shape);
    gate_input = gate_input.add(dt_bias_.view({1, 1, heads_, head_dim_}));
    const Tensor decay_rate = ghost::exp(a_log_).view({1, 1, heads_, 1});
    const Tensor gate = is_safe_ ? ghost::sigmoid(decay_rate.mul(gate_input)).mul(2.0)
                                 : decay_rate.neg().mul(ghost::softplus(gate_input));
    return gate.to(hidden_states.dtype());
  }

 private:
  std::int64_t heads_, head_dim_;
  bool is_safe_;
  Tensor a_log_, dt_bias_;
  nn::Linear f_proj_;
};

/// BailingHybridRMSNormGated: weighs in float32, then the gate's sigmoid.
class BailingGatedNorm : public nn::Module<BailingGatedNorm> {
 public:
  BailingGatedNorm(const nn::Scope& scope, std::int64_t size)
      : Module(scope), weight_(scope.parameter("weight", {size})) {}

  Tensor forward(const Tensor& x, const Tensor& gate) {
    const DType input_dtype = x.dtype();
    Tensor hidden_states = x.to_float();
    const Tensor variance = hidden_states.pow(2).mean(-1, true);
    hidden_states = hidden_states.mul(ghost::rsqrt(variance.add(1e-6)));
    hidden_states = weight_.to_float().mul(hidden_states);
    hidden_states = hidden_states.mul(ghost::sigmoid(gate.to_float()));
    return hidden_states.to(input_dtype);
  }

 private:
  Tensor weight_;
};

class BailingDeltaAttention : public nn::Module<BailingDeltaAttention> {
 public:
  BailingDeltaAttention(const nn::Scope& scope, const BailingHybridConfig& c)
      : Module(scope),
        head_dim_(c.linear_head_dim),
        qkv_dim_(c.num_attention_heads * c.linear_head_dim),
        activation_(c.hidden_act),
        q_proj_(scope / "q_proj", c.hidden_size, qkv_dim_, false),
        k_proj_(scope / "k_proj", c.hidden_size, qkv_dim_, false),
        v_proj_(scope / "v_proj", c.hidden_size, qkv_dim_, false),
        conv1d_(scope / "conv1d", Dims{3 * qkv_dim_, 1, c.conv_kernel}, DType::float32),
        forget_gate_(scope / "forget_gate", c),
        b_proj_(scope / "b_proj", c.hidden_size, c.num_attention_heads, false),
        o_norm_(scope / "o_norm", head_dim_),
        o_proj_(scope / "o_proj", qkv_dim_, c.hidden_size, false),
        g_proj_(scope / "g_proj", c.hidden_size, qkv_dim_, false) {}

  Tensor forward(const Tensor& hidden_states) {
    const std::int64_t batch_size = hidden_states.size(0), seq_len = hidden_states.size(1);
    const Dims hidden_shape{batch_size, seq_len, -1, head_dim_};
    Tensor mixed_qkv = joined_projections(hidden_states).transpose(1, 2);
    LinearLayer* const layer = KeyValueCache::linear_layer();
    const bool steps = is_one_more_token(layer, seq_len);
    mixed_qkv = cached_conv1d(std::move(mixed_qkv), layer, conv1d_, activation_);
    const std::array<std::int64_t, 3> lengths{qkv_dim_, qkv_dim_, qkv_dim_};
    std::vector<Tensor> split = mixed_qkv.transpose(1, 2).split(lengths, -1);
    for (Tensor& states : split) states = states.view(hidden_shape);
    const Tensor decay = forget_gate_(hidden_states);
    const Tensor beta = ghost::sigmoid(b_proj_(hidden_states));
    Tensor output, last_recurrent_state;
    {
      KimiDeltaRule rule{
          .query = split[0], .key = split[1], .value = split[2], .g = decay, .beta = beta};
      if (layer) rule.last_recurrent_state = layer->recurrent_states;
      output = steps ? rule.run_step() : rule.run(layer != nullptr);
      last_recurrent_state = rule.last_recurrent_state;
    }
    if (layer) layer->update_recurrent_state(last_recurrent_state.to_float());
    const Tensor output_gate = g_proj_(hidden_states);
    output = o_norm_(output, output_gate.view(hidden_shape)).reshape({batch_size, seq_len, -1});
    return o_proj_(output);
  }

 private:
  Tensor joined_projections(const Tensor& hidden_states) {
    const Tensor query = q_proj_(hidden_states), key = k_proj_(hidden_states),
                 value = v_proj_(hidden_states);
    return ghost::cat({query, key, value}, -1);
  }

  std::int64_t head_dim_, qkv_dim_;
  nn::Activation activation_;
  nn::Linear q_proj_, k_proj_, v_proj_;
  nn::Convolution conv1d_;
  BailingForgetGate forget_gate_;
  nn::Linear b_proj_;
  BailingGatedNorm o_norm_;
  nn::Linear o_proj_, g_proj_;
};

/// `self_attn` of either kind.
class BailingMixer {
 public:
  BailingMixer(const nn::Scope& scope, const BailingHybridConfig& c, std::int64_t layer) {
    if (c.is_linear(layer))
      linear_.emplace(scope, c);
    else
      full_.emplace(scope, c);
  }
  Tensor operator()(const Tensor& x, const Tensor& attention_mask,
                    const CosSin& position_embeddings) {
    return linear_ ? (*linear_)(x) : (*full_)(x, attention_mask, position_embeddings);
  }

 private:
  std::optional<BailingDeltaAttention> linear_;
  std::optional<DeepseekV3Attention> full_;
};

struct BailingHybridParts : MoeParts {
  using Settings = BailingHybridConfig;
  using DecoderLayer =
      PreNormDecoderLayer<BailingMixer, MaybeSparseMlp<DeepseekMoe<DeepseekV3TopkRouter>>>;
  using Norm = LlamaRMSNorm;
  static int layer_kind(const BailingHybridConfig& c, std::size_t layer) {
    const auto index = static_cast<std::int64_t>(layer);
    return (c.is_linear(index) ? 2 : 0) + (c.has_experts(index) ? 1 : 0);
  }
  static LayerMasks make_masks(const BailingHybridConfig& c, const Tensor& attention_mask,
                               const Tensor& inputs_embeds, const Tensor& position_ids) {
    LayerMasks masks = create_layer_masks(c, attention_mask, inputs_embeds, position_ids);
    create_recurrent_attention_mask(attention_mask, inputs_embeds.size(1));
    return masks;
  }
};

ModelPointer build_bailing_hybrid(const Config& c, const ModelOptions& options) {
  return build_checked<DecoderForCausalLM<BailingHybridParts>>(c, BailingHybridConfig(c, options),
                                                               options);
}

}  // namespace

extern const FamilyFacts kBailingHybrid{.model_type = "bailing_hybrid",
                                        .first = {5, 20, 0},
                                        .ties_head = Known::no,
                                        .has_bos = Known::no,
                                        .modeling = with_scans(kDecoder),
                                        .build = build_bailing_hybrid};

}  // namespace memtape::family
