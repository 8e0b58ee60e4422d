// SPDX-License-Identifier: Apache-2.0
// Cohere (Command R, Aya): layer norms spelled out in float32, neighbours rotated instead of
// halves, attention and MLP side by side on the same input, scaled logits; its second generation
// (Command A, R7B) has sliding layers, which alone rotate. Mirroring transformers 5.17
// models/cohere/modular_cohere.py and models/cohere2/modular_cohere2.py.
#include <optional>
#include <tuple>

#include "family/decoder.h"
#include "family/families.h"
#include "family/llama.h"
#include "ghost/ops/pointwise.h"

namespace memtape::family {
namespace {

struct CohereConfig : DecoderConfig {
  CohereConfig(const Config& c, const ModelOptions& options)
      : DecoderConfig(c, options,
                      {.vocab_size = 256000,
                       .hidden_size = 8192,
                       .intermediate_size = 22528,
                       .num_hidden_layers = 40,
                       .num_attention_heads = 64,
                       .tie_word_embeddings = true}),
        use_qk_norm(!c.is_null("use_qk_norm") && c.boolean("use_qk_norm", false)) {
    qkv_bias = o_bias = c.boolean("attention_bias", false);
    rope.interleaved = true;
  }
  bool use_qk_norm;

  bool rotates(std::int64_t) const { return true; }
};

struct Cohere2Config : CohereConfig {
  Cohere2Config(const Config& c, const ModelOptions& options) : CohereConfig(c, options) {
    use_qk_norm = false;
    sliding_window = c.has("sliding_window") ? c.optional_dimension("sliding_window") : 4096;
    const std::int64_t every = c.dimension("sliding_window_pattern", 4);
    layer_types = read_layer_types(c, num_hidden_layers,
                                   [](std::int64_t) { return LayerType::full_attention; });
    if (c.is_null("layer_types"))
      for (std::int64_t i = 0; i < num_hidden_layers; ++i)
        if ((i + 1) % every != 0)
          layer_types[static_cast<std::size_t>(i)] = LayerType::sliding_attention;
    if (!sliding_window) c.fail("sliding_window", "is null, but the model makes a sliding mask");
    masks_by_layer_type = masks_both_types = true;
  }

  bool rotates(std::int64_t layer) const {
    return layer_type(layer) == LayerType::sliding_attention;
  }
};

class CohereLayerNorm : public nn::Module<CohereLayerNorm> {
 public:
  CohereLayerNorm(const nn::Scope& scope, const Dims& hidden_size)
      : Module(scope), weight_(scope.parameter("weight", hidden_size)) {}
  CohereLayerNorm(const nn::Scope& scope, std::int64_t hidden_size)
      : CohereLayerNorm(scope, Dims{hidden_size}) {}

  Tensor forward(const Tensor& x) {
    const DType input_dtype = x.dtype();
    Tensor hidden_states = x.to_float();
    const Tensor mean = hidden_states.mean(-1, true);
    const Tensor variance = hidden_states.sub(mean).pow(2).mean(-1, true);
    hidden_states = hidden_states.sub(mean).mul(ghost::rsqrt(variance.add(1e-5)));
    hidden_states = weight_.to_float().mul(hidden_states);
    return hidden_states.to(input_dtype);
  }

 private:
  Tensor weight_;
};

struct CohereSteps {
  template <class Settings>
  CohereSteps(const nn::Scope& scope, const Settings& c, std::int64_t layer)
      : rotates(c.rotates(layer)) {
    if (c.use_qk_norm)
      norms.emplace(scope, Dims{c.num_attention_heads, c.head_dim},
                    Dims{c.num_key_value_heads, c.head_dim}, NormNames());
  }
  void heads(Tensor& q, Tensor& k) {
    if (norms) (*norms)(q, k);
  }
  void operator()(Tensor& q, Tensor& k, const CosSin& cos_sin) const {
    if (rotates) std::tie(q, k) = apply_interleaved_rotary_pos_emb(q, k, cos_sin);
  }
  bool rotates;
  std::optional<NormPair<CohereLayerNorm>> norms;
};

class CohereDecoderLayer : public nn::GradientCheckpointingLayer<CohereDecoderLayer> {
 public:
  template <class Settings>
  CohereDecoderLayer(const nn::Scope& scope, const Settings& c, std::int64_t layer)
      : GradientCheckpointingLayer(scope),
        self_attn_(scope / "self_attn", c, layer),
        mlp_(scope / "mlp", c),
        input_layernorm_(scope / "input_layernorm", c.hidden_size) {}

  Tensor forward(const Tensor& residual, const Tensor& attention_mask,
                 const CosSin& position_embeddings, const Tensor&) {
    const Tensor hidden_states = input_layernorm_(residual);
    const Tensor hidden_states_attention =
        self_attn_(hidden_states, attention_mask, position_embeddings);
    const Tensor hidden_states_mlp = mlp_(hidden_states);
    return residual.add(hidden_states_attention).add(hidden_states_mlp);
  }

 private:
  AttentionOf<CohereSteps> self_attn_;
  LlamaMLP mlp_;
  CohereLayerNorm input_layernorm_;
};

template <class Config>
struct CohereParts : DecoderParts {
  using Settings = Config;
  using DecoderLayer = CohereDecoderLayer;
  using Norm = CohereLayerNorm;
  static void cap_logits(Tensor& logits, const CohereConfig&) { logits = logits.mul(0.0625); }
};

}  // namespace

ModelPointer build_cohere(const Config& c, const ModelOptions& options) {
  return build_checked<DecoderForCausalLM<CohereParts<CohereConfig>>>(c, CohereConfig(c, options),
                                                                      options);
}

ModelPointer build_cohere2(const Config& c, const ModelOptions& options) {
  return build_checked<DecoderForCausalLM<CohereParts<Cohere2Config>>>(c, Cohere2Config(c, options),
                                                                       options);
}

}  // namespace memtape::family
