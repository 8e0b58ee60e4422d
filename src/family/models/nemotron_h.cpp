// SPDX-License-Identifier: Apache-2.0
// Nemotron-H: layers of one mixer each, which is Mamba 2's, attention without a rope, an MLP, or
// experts without gates beside a shared one, in a space of their own where there is one; mirroring
// transformers 5.17 models/nemotron_h/modeling_nemotron_h.py.
#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "base/text.h"
#include "family/caches/key_value_cache.h"
#include "family/facts.h"
#include "family/models/mamba.h"
#include "family/parts/activations.h"
#include "family/parts/decoder.h"
#include "family/parts/deepseek_moe.h"
#include "family/parts/forward_arguments.h"
#include "family/parts/mamba2_mixer.h"
#include "family/parts/ungated_mlp.h"
#include "ghost/given.h"
#include "ghost/ops/pointwise.h"
#include "model/layer_letters.h"
#include "nn/module_init.h"
#include "release/transformers_changes.h"

namespace memtape::family {
namespace {

/// One layer of each kind where the configuration names none.
std::string letters_of(const Config& c) {
  constexpr std::array kKeys{"layers_block_type", "layer_types", "hybrid_override_pattern"};
  const bool says = std::ranges::any_of(kKeys, [&](const char* key) { return !c.is_null(key); });
  return says ? layer_letters(c) : "ME*-";
}

struct NemotronHConfig : DeepseekMoeConfig {
  NemotronHConfig(const Config& c, const ModelOptions& options)
      : DeepseekMoeConfig(c, options,
                          {.vocab_size = 131072,
                           .intermediate_size = 21504,
                           .num_hidden_layers = 4,
                           .num_key_value_heads = 8,
                           .head_dim = 128},
                          {.experts_key = {"n_routed_experts", "num_local_experts"},
                           .num_experts = 8,
                           .num_experts_per_tok = 2,
                           .intermediate_size = 7688}),
        letters(letters_of(c)),
        shared_expert_size(c.dimension("moe_shared_expert_intermediate_size", 7688)),
        latent_size(c.optional_dimension("moe_latent_size").value_or(0)),
        rescale_prenorm_residual(c.boolean("rescale_prenorm_residual", true)),
        mixer{.hidden_size = hidden_size,
              .intermediate_size = 0,
              .num_heads = c.dimension("mamba_num_heads", 128),
              .head_dim = c.dimension("mamba_head_dim", 64),
              .state_size = c.dimension("ssm_state_size", 128),
              .n_groups = c.dimension({"mamba_n_groups", "n_groups"}, 8),
              .conv_kernel = c.dimension({"mamba_d_conv", "conv_kernel"}, 4),
              .chunk_size = c.dimension({"mamba_chunk_size", "chunk_size"}, 128),
              .norm_group_size = 0,
              .use_bias = c.boolean("use_bias", false),
              .use_conv_bias = c.boolean({"mamba_conv_bias", "use_conv_bias"}, true),
              .activation = activation(c, "mamba_hidden_act", "silu"),
              .initializes_early = true} {
    if (letters.empty()) c.fail("layers_block_type", "must name at least one layer");
    num_hidden_layers = static_cast<std::int64_t>(letters.size());
    hidden_act = activation(c, "mlp_hidden_act", "relu2");
    mlp_bias = c.boolean("mlp_bias", false);
    mixer.intermediate_size = mixer.num_heads * mixer.head_dim;
    mixer.norm_group_size = mixer.intermediate_size / mixer.n_groups;
    mixer.keeps_convolved = false;
    mixer.scans_by_heads = true;
    check_mixer(c, "mamba_num_heads", mixer);
    norm_topk_prob = c.boolean("norm_topk_prob", true);
    if (letters.find('E') != std::string::npos) read_groups_of_two_best(c, 1, 1);
  }
  char letter(std::int64_t layer) const { return letters[static_cast<std::size_t>(layer)]; }

  std::string letters;
  std::int64_t shared_expert_size;
  std::int64_t latent_size;  ///< of what the experts are given; 0: hidden_size
  bool rescale_prenorm_residual;
  Mamba2MixerConfig mixer;
};

class NemotronHAttention : public nn::Module<NemotronHAttention> {
 public:
  NemotronHAttention(const nn::Scope& scope, const DecoderConfig& c)
      : Module(scope),
        call_(attention_call(c)),
        head_dim_(c.head_dim),
        q_proj_(scope / "q_proj", c.hidden_size, c.num_attention_heads * c.head_dim, false),
        k_proj_(scope / "k_proj", c.hidden_size, c.num_key_value_heads * c.head_dim, false),
        v_proj_(scope / "v_proj", c.hidden_size, c.num_key_value_heads * c.head_dim, false),
        o_proj_(scope / "o_proj", c.num_attention_heads * c.head_dim, c.hidden_size, false) {}

  Tensor forward(const Tensor& hidden_states, const Tensor& attention_mask) {
    const Dims input_shape = hidden_states.sizes().leading();
    const Dims hidden_shape = input_shape.with(-1).with(head_dim_);
    const Tensor query_states = q_proj_(hidden_states).view(hidden_shape).transpose(1, 2);
    Tensor key_states = k_proj_(hidden_states).view(hidden_shape).transpose(1, 2);
    Tensor value_states = v_proj_(hidden_states).view(hidden_shape).transpose(1, 2);
    KeyValueCache::update(key_states, value_states);
    Tensor attn_output =
        attention_interface(call_, query_states, key_states, value_states, attention_mask);
    attn_output = attn_output.reshape(input_shape.with(-1)).contiguous();
    return o_proj_(attn_output);
  }

 private:
  AttentionCall call_;
  std::int64_t head_dim_;
  nn::Linear q_proj_, k_proj_, v_proj_, o_proj_;
};

class NemotronHMoE : public nn::Module<NemotronHMoE> {
 public:
  NemotronHMoE(const nn::Scope& scope, const NemotronHConfig& c)
      : Module(scope),
        experts_(scope / "experts", c, {.has_gate = false, .input_size = c.latent_size}),
        gate_(scope / "gate", c),
        shared_experts_(scope / "shared_experts", with_intermediate_size(c, c.shared_expert_size)) {
    if (c.latent_size == 0) return;
    fc1_latent_proj_.emplace(scope / "fc1_latent_proj", c.hidden_size, c.latent_size, c.mlp_bias);
    fc2_latent_proj_.emplace(scope / "fc2_latent_proj", c.latent_size, c.hidden_size, c.mlp_bias);
  }

  Tensor forward(const Tensor& residuals) {
    const Routing routing = gate_(residuals);
    Tensor hidden_states = residuals.view({-1, residuals.size(-1)});
    if (fc1_latent_proj_) hidden_states = (*fc1_latent_proj_)(hidden_states);
    hidden_states = experts_(hidden_states, routing.indices, routing.weights);
    if (fc2_latent_proj_) hidden_states = (*fc2_latent_proj_)(hidden_states);
    hidden_states = hidden_states.view(residuals.sizes());
    hidden_states = hidden_states.add(shared_experts_(residuals));
    return hidden_states;
  }

 private:
  Experts experts_;
  DeepseekV3TopkRouter gate_;
  UngatedMlp shared_experts_;
  std::optional<nn::Linear> fc1_latent_proj_, fc2_latent_proj_;
};

class NemotronHRMSNorm : public nn::Module<NemotronHRMSNorm> {
 public:
  NemotronHRMSNorm(const nn::Scope& scope, std::int64_t hidden_size)
      : Module(scope), weight_(scope.parameter("weight", {hidden_size})) {}

  Tensor forward(const Tensor& x) {
    const DType input_dtype = x.dtype();
    Tensor hidden_states = x.to_float();
    const Tensor variance = hidden_states.pow(2).mean(-1, true);
    hidden_states = hidden_states.mul(ghost::rsqrt(variance.add(1e-6)));
    if (!ghost::has(changes::kNemotronHNormInFloat32))
      return weight_.mul(hidden_states.to(input_dtype));
    return weight_.to_float().mul(hidden_states).to(input_dtype);
  }

 private:
  Tensor weight_;
};

class NemotronHBlock : public nn::GradientCheckpointingLayer<NemotronHBlock> {
 public:
  NemotronHBlock(const nn::Scope& scope, const NemotronHConfig& c, nn::ListIndex layer)
      : GradientCheckpointingLayer(scope), norm_(scope / "norm", c.hidden_size) {
    const nn::Scope mixer = scope / "mixer";
    switch (c.letter(layer)) {
      case 'M': mamba.emplace(mixer, c.mixer); break;
      case '*': attention_.emplace(mixer, c); break;
      case '-': mlp_.emplace(mixer, c); break;
      default: moe_.emplace(mixer, c); break;
    }
  }

  Tensor forward(const Tensor& x, const Tensor& attention_mask, const Tensor&) {
    const Tensor residual = x;
    Tensor hidden_states = norm_(x.to(weight_dtype(norm_.node())));
    if (mamba)
      hidden_states = (*mamba)(hidden_states, attention_mask);
    else if (attention_)
      hidden_states = (*attention_)(hidden_states, attention_mask);
    else
      hidden_states = moe_ ? (*moe_)(hidden_states) : (*mlp_)(hidden_states);
    return residual.add(hidden_states);
  }

 private:
  NemotronHRMSNorm norm_;

 public:
  std::optional<Mamba2Mixer> mamba;

 private:
  std::optional<NemotronHAttention> attention_;
  std::optional<UngatedMlp> mlp_;
  std::optional<NemotronHMoE> moe_;
};

class NemotronHForCausalLM : public PretrainedModel {
 public:
  NemotronHForCausalLM(const NemotronHConfig& c, const ModelOptions& options)
      : PretrainedModel(options),
        config_(c),
        model_(root() / "model"),
        embeddings_(model_ / "embeddings", c.vocab_size, c.hidden_size),
        layers_(model_ / "layers", c.num_hidden_layers, c),
        norm_f_(model_ / "norm_f", c.hidden_size),
        lm_head_(init_weights() / "lm_head", c.hidden_size, c.vocab_size, false) {}

  ModelOutput forward(const Batch& batch) override {
    const Tensor hidden_states = run_model(batch);
    Tensor logits = lm_head_(kept_for_logits(hidden_states, this->model_type)).to_float();
    Tensor loss = causal_lm_loss(logits, batch, config_.vocab_size, this->model_type);
    return {std::move(loss), std::move(logits)};
  }

 private:
  /// _init_weights of the mixers, before the head is made: in the model's own dtype, and with a
  /// rescaled copy of out_proj.
  nn::Scope init_weights() {
    for (NemotronHBlock& block : layers_) {
      if (auto* const init = ghost::given_here<nn::ModuleInit>()) init->draw(block.node());
      if (!block.mamba) continue;
      const ghost::ScopeGuard guard(block.node().scope);
      const Tensor A = ghost::arange(config_.mixer.num_heads, DType::int64);
      ghost::zeros({config_.mixer.num_heads}, tree.dtype());  // torch.log(A)
      const InitialTimeSteps steps(config_.mixer.num_heads, tree.dtype());
      const ghost::GradMode no_grad(false);
      if (config_.rescale_prenorm_residual)
        const Tensor p_new = block.mamba->out_proj_weight().div(ghost::kScale);
    }
    return root();
  }

  Tensor run_model(const Batch& batch) {
    const Tensor inputs_embeds = embeddings_(batch.input_ids);
    Tensor hidden_states = inputs_embeds;
    const auto [position_ids, full_attention, linear_attention] =
        hybrid_inputs({.attention = config_.attention, .attention_mask = batch.attention_mask},
                      inputs_embeds, position_ids_for(inputs_embeds));
    std::int64_t layer = 0;
    for (NemotronHBlock& mixer_block : layers_) {
      const char letter = config_.letter(layer++);
      const Tensor none;
      hidden_states = mixer_block(hidden_states,
                                  letter == '*'   ? full_attention
                                  : letter == 'M' ? linear_attention
                                                  : none,
                                  position_ids);
    }
    return norm_f_(hidden_states);
  }

  NemotronHConfig config_;
  nn::Scope model_;
  nn::Embedding embeddings_;
  nn::ModuleList<NemotronHBlock> layers_;
  NemotronHRMSNorm norm_f_;
  nn::Linear lm_head_;
};

ModelPointer build_nemotron_h(const Config& c, const ModelOptions& options) {
  return build_checked<NemotronHForCausalLM>(c, NemotronHConfig(c, options), options);
}

}  // namespace

extern const FamilyFacts kNemotronH{.model_type = "nemotron_h",
                                    .first = {5, 3, 0},
                                    .ties_head = Known::no,
                                    .has_bos = Known::yes,
                                    .modeling = with_scans(kDecoder),
                                    .build = build_nemotron_h};

}  // namespace memtape::family
