// SPDX-License-Identifier: Apache-2.0
// Gemma 2: norms that multiply by 1 + weight, four of them a layer, a scaled embedding, softcapped attention and logits, and
// layers that slide in turn; mirroring transformers 5.17 models/gemma2/modeling_gemma2.py.
#include <optional>

#include "family/activations.h"
#include "family/decoder.h"
#include "family/families.h"
#include "family/llama.h"
#include "ghost/ops/embedding.h"
#include "ghost/ops/pointwise.h"

namespace memtape::family {
namespace {

struct Gemma2Config : DecoderConfig {
  Gemma2Config(const Config& c, const ModelOptions& options)
      : DecoderConfig(c, options,
                      {.vocab_size = 256000, .hidden_size = 2304, .intermediate_size = 9216, .num_hidden_layers = 26,
                       .num_attention_heads = 8, .num_key_value_heads = 4, .head_dim = 256, .tie_word_embeddings = true}),
        final_logit_softcapping(softcap(c, "final_logit_softcapping", 30.0)) {
    hidden_act = activation(c, "hidden_activation", "gelu_pytorch_tanh");
    qkv_bias = o_bias = c.boolean("attention_bias", false);
    attn_logit_softcapping = softcap(c, "attn_logit_softcapping", 50.0);
    sliding_window = c.has("sliding_window") ? c.optional_dimension("sliding_window") : 4096;
    layer_types = read_layer_types(c, num_hidden_layers, [](std::int64_t layer) {
      return layer % 2 == 0 ? LayerType::sliding_attention : LayerType::full_attention;
    });
    masks_by_layer_type = true;
  }

  static std::optional<double> softcap(const Config& c, const char* key, double otherwise) {
    return c.has(key) ? c.optional_number(key) : otherwise;
  }
  std::optional<double> final_logit_softcapping;
};

class Gemma2RMSNorm : public nn::Module<Gemma2RMSNorm> {
 public:
  Gemma2RMSNorm(const nn::Scope& scope, std::int64_t dim) : Module(scope), weight_(scope.parameter("weight", {dim})) {}

  Tensor forward(const Tensor& x) {
    Tensor output = norm(x.to_float());
    output = output.mul(weight_.to_float().add(1.0));
    return output.to(x.dtype());
  }

 private:
  static Tensor norm(const Tensor& x) { return x.mul(ghost::rsqrt(x.pow(2).mean(-1, true).add(1e-6))); }
  Tensor weight_;
};

/// An embedding times a number that lies on the GPU in the model's dtype.
class Gemma2TextScaledWordEmbedding : public nn::Module<Gemma2TextScaledWordEmbedding> {
 public:
  Gemma2TextScaledWordEmbedding(const nn::Scope& scope, std::int64_t count, std::int64_t dim)
      : Module(scope), weight(scope.parameter("weight", {count, dim})), embed_scale_(ghost::zeros({}, scope.dtype())) {
    scope.buffer("embed_scale", embed_scale_);
  }
  Tensor forward(const Tensor& input_ids) { return ghost::embedding(weight, input_ids).mul(embed_scale_.to(weight.dtype())); }

  Tensor weight;

 private:
  Tensor embed_scale_;
};

class Gemma2DecoderLayer : public nn::GradientCheckpointingLayer<Gemma2DecoderLayer> {
 public:
  Gemma2DecoderLayer(const nn::Scope& scope, const DecoderConfig& c)
      : GradientCheckpointingLayer(scope),
        self_attn_(scope / "self_attn", c),
        mlp_(scope / "mlp", c),
        input_layernorm_(scope / "input_layernorm", c.hidden_size),
        post_attention_layernorm_(scope / "post_attention_layernorm", c.hidden_size),
        pre_feedforward_layernorm_(scope / "pre_feedforward_layernorm", c.hidden_size),
        post_feedforward_layernorm_(scope / "post_feedforward_layernorm", c.hidden_size) {}

  Tensor forward(const Tensor& x, const Tensor& attention_mask, const CosSin& position_embeddings, const Tensor&) {
    Tensor residual = x;
    Tensor hidden_states = input_layernorm_(x);
    hidden_states = self_attn_(hidden_states, attention_mask, position_embeddings);
    hidden_states = post_attention_layernorm_(hidden_states);
    hidden_states = residual.add(hidden_states);

    residual = hidden_states;
    hidden_states = pre_feedforward_layernorm_(hidden_states);
    hidden_states = mlp_(hidden_states);
    hidden_states = post_feedforward_layernorm_(hidden_states);
    return residual.add(hidden_states);
  }

 private:
  LlamaAttention self_attn_;
  LlamaMLP mlp_;
  Gemma2RMSNorm input_layernorm_, post_attention_layernorm_, pre_feedforward_layernorm_, post_feedforward_layernorm_;
};

struct Gemma2Parts : DecoderParts {
  using Settings = Gemma2Config;
  using DecoderLayer = Gemma2DecoderLayer;
  using Norm = Gemma2RMSNorm;
  using Embedding = Gemma2TextScaledWordEmbedding;

  static void cap_logits(Tensor& logits, const Gemma2Config& c) {
    if (!c.final_logit_softcapping) return;
    logits = logits.div(*c.final_logit_softcapping);
    logits = ghost::tanh(logits);
    logits = logits.mul(*c.final_logit_softcapping);
  }
};

}  // namespace

ModelPointer build_gemma2(const Config& c, const ModelOptions& options) {
  return build_checked<DecoderForCausalLM<Gemma2Parts>>(c, Gemma2Config(c, options), options);
}

}  // namespace memtape::family
