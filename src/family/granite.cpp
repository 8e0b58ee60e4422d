// SPDX-License-Identifier: Apache-2.0
// Granite: Llama with numbers that scale the embedding, each branch and the logits; mirroring
// transformers 5.17 models/granite/modular_granite.py.
#include "family/decoder.h"
#include "family/families.h"
#include "family/llama.h"

namespace memtape::family {
namespace {

class GraniteDecoderLayer : public nn::GradientCheckpointingLayer<GraniteDecoderLayer> {
 public:
  GraniteDecoderLayer(const nn::Scope& scope, const DecoderConfig& c)
      : GradientCheckpointingLayer(scope),
        self_attn_(scope / "self_attn", c),
        mlp_(scope / "mlp", c),
        input_layernorm_(scope / "input_layernorm", c.hidden_size),
        post_attention_layernorm_(scope / "post_attention_layernorm", c.hidden_size) {}

  Tensor forward(const Tensor& x, const Tensor& attention_mask, const CosSin& position_embeddings,
                 const Tensor&) {
    Tensor residual = x;
    Tensor hidden_states = input_layernorm_(x);
    hidden_states = self_attn_(hidden_states, attention_mask, position_embeddings);
    hidden_states = residual.add(hidden_states.mul(kMultiplier));

    residual = hidden_states;
    hidden_states = post_attention_layernorm_(hidden_states);
    hidden_states = mlp_(hidden_states);
    return residual.add(hidden_states.mul(kMultiplier));
  }

 private:
  static constexpr double kMultiplier = 1.0;  ///< any number: a product is made even with 1
  LlamaAttention self_attn_;
  LlamaMLP mlp_;
  LlamaRMSNorm input_layernorm_, post_attention_layernorm_;
};

struct GraniteParts : DecoderParts {
  using DecoderLayer = GraniteDecoderLayer;
  using Norm = LlamaRMSNorm;
  static void scale_embeddings(Tensor& inputs_embeds, const DecoderConfig&) {
    inputs_embeds = inputs_embeds.mul(1.0);
  }
  static void cap_logits(Tensor& logits, const DecoderConfig&) { logits = logits.div(1.0); }
};

}  // namespace

ModelPointer build_granite(const Config& c, const ModelOptions& options) {
  DecoderConfig config(c, options, {});
  config.qkv_bias = config.o_bias = c.boolean("attention_bias", false);
  config.mlp_bias = c.boolean("mlp_bias", false);
  return build_checked<DecoderForCausalLM<GraniteParts>>(c, config, options);
}

}  // namespace memtape::family
