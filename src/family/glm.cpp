// SPDX-License-Identifier: Apache-2.0
// GLM 4: Llama in which a part of each head is rotated, neighbour with neighbour, and gate and up
// come from one projection; the releases of 2025 (glm4) have norms behind attention and MLP, too.
// Mirroring transformers 5.17 models/glm/modular_glm.py and models/glm4/modular_glm4.py.
#include "family/attention_of.h"
#include "family/decoder.h"
#include "family/families.h"
#include "family/llama.h"
#include "family/phi3_mlp.h"
#include "family/rotate_pairs.h"

namespace memtape::family {
namespace {

DecoderConfig glm_config(const Config& c, const ModelOptions& options) {
  DecoderConfig config(c, options,
                       {.vocab_size = 151552,
                        .intermediate_size = 13696,
                        .num_hidden_layers = 40,
                        .num_key_value_heads = 2,
                        .head_dim = 128});
  config.qkv_bias = c.boolean("attention_bias", true);
  config.rope = rope_parameters(c, config.head_dim, "partial_rotary_factor", 0.5);
  return config;
}

using GlmAttention = AttentionOf<Rotated<rotate_pairs_of_part>>;

struct GlmParts : DecoderParts {
  using DecoderLayer = PreNormDecoderLayer<GlmAttention, Phi3MLP>;
  using Norm = LlamaRMSNorm;
};

class Glm4DecoderLayer : public nn::GradientCheckpointingLayer<Glm4DecoderLayer> {
 public:
  Glm4DecoderLayer(const nn::Scope& scope, const DecoderConfig& c, std::int64_t layer)
      : GradientCheckpointingLayer(scope),
        self_attn_(scope / "self_attn", c, layer),
        mlp_(scope / "mlp", c),
        input_layernorm_(scope / "input_layernorm", c.hidden_size),
        post_attention_layernorm_(scope / "post_attention_layernorm", c.hidden_size),
        post_self_attn_layernorm_(scope / "post_self_attn_layernorm", c.hidden_size),
        post_mlp_layernorm_(scope / "post_mlp_layernorm", c.hidden_size) {}

  Tensor forward(const Tensor& x, const Tensor& attention_mask, const CosSin& position_embeddings,
                 const Tensor&) {
    Tensor residual = x;
    Tensor hidden_states = input_layernorm_(x);
    hidden_states = self_attn_(hidden_states, attention_mask, position_embeddings);
    hidden_states = post_self_attn_layernorm_(hidden_states);
    hidden_states = residual.add(hidden_states);

    residual = hidden_states;
    hidden_states = post_attention_layernorm_(hidden_states);
    hidden_states = mlp_(hidden_states);
    hidden_states = post_mlp_layernorm_(hidden_states);
    return residual.add(hidden_states);
  }

 private:
  GlmAttention self_attn_;
  Phi3MLP mlp_;
  LlamaRMSNorm input_layernorm_, post_attention_layernorm_, post_self_attn_layernorm_,
      post_mlp_layernorm_;
};

struct Glm4Parts : DecoderParts {
  using DecoderLayer = Glm4DecoderLayer;
  using Norm = LlamaRMSNorm;
};

}  // namespace

ModelPointer build_glm(const Config& c, const ModelOptions& options) {
  return build_checked<DecoderForCausalLM<GlmParts>>(c, glm_config(c, options), options);
}

ModelPointer build_glm4(const Config& c, const ModelOptions& options) {
  return build_checked<DecoderForCausalLM<Glm4Parts>>(c, glm_config(c, options), options);
}

}  // namespace memtape::family
