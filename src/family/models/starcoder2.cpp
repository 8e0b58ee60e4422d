// SPDX-License-Identifier: Apache-2.0
// StarCoder2: Mistral with layer norms, biases, an MLP without a gate, and dropout on the embedding
// and both branches; mirroring transformers 5.17 models/starcoder2/modular_starcoder2.py.
#include "family/facts.h"
#include "family/parts/attention_steps.h"
#include "family/parts/decoder.h"
#include "family/parts/llama_layer.h"
#include "ghost/ops/dropout.h"

namespace memtape::family {
namespace {

struct Starcoder2Config : DecoderConfig {
  Starcoder2Config(const Config& c, const ModelOptions& options)
      : DecoderConfig(c, options,
                      {.vocab_size = 49152,
                       .hidden_size = 3072,
                       .intermediate_size = 12288,
                       .num_hidden_layers = 30,
                       .num_attention_heads = 24,
                       .num_key_value_heads = 2,
                       .hidden_act = "gelu_pytorch_tanh",
                       .tie_word_embeddings = true}),
        residual_dropout(c.number("residual_dropout", 0.0)),
        embedding_dropout(c.number("embedding_dropout", 0.0)) {
    qkv_bias = o_bias = mlp_bias = c.boolean("use_bias", true);
    sliding_window = c.optional_dimension("sliding_window");
    if (sliding_window) layer_types.assign(layer_types.size(), LayerType::sliding_attention);
    have_own_ropes(OwnRopes::unread);
  }
  double residual_dropout, embedding_dropout;
};

class Starcoder2MLP : public nn::Module<Starcoder2MLP> {
 public:
  Starcoder2MLP(const nn::Scope& scope, const Starcoder2Config& c)
      : Module(scope),
        c_fc_(scope / "c_fc", c.hidden_size, c.intermediate_size, c.mlp_bias),
        c_proj_(scope / "c_proj", c.intermediate_size, c.hidden_size, c.mlp_bias),
        act_(c.hidden_act),
        residual_dropout_(c.residual_dropout) {}

  Tensor forward(const Tensor& x) {
    Tensor hidden_states = c_fc_(x);
    hidden_states = act_(hidden_states);
    hidden_states = c_proj_(hidden_states);
    return ghost::dropout(hidden_states, residual_dropout_);
  }

 private:
  nn::Linear c_fc_, c_proj_;
  nn::Activation act_;
  double residual_dropout_;
};

using CheckpointedLayer =
    PreNormDecoderLayer<AttentionOf<ResidualDropout>, Starcoder2MLP, nn::LayerNorm>;

/// A layer that some releases never checkpoint.
class Starcoder2DecoderLayer : public CheckpointedLayer {
 public:
  using CheckpointedLayer::CheckpointedLayer;
  template <class... Rest>
  Tensor operator()(const nn::In& x, const Rest&... rest) {
    const bool is_checkpointed = ghost::has(changes::kStarcoder2Checkpoints) ||
                                 !ghost::has(changes::kAttentionsAreInterfaces);
    if (is_checkpointed) return CheckpointedLayer::operator()(x, rest...);
    const nn::LayerFrame frame;
    return nn::Module<CheckpointedLayer>::operator()(x, rest...);
  }
};

struct Starcoder2Parts : DecoderParts {
  using Settings = Starcoder2Config;
  using DecoderLayer = Starcoder2DecoderLayer;
  using Norm = nn::LayerNorm;
  static Tensor enter_layers(const Tensor& inputs_embeds, const Starcoder2Config& c) {
    return ghost::dropout(inputs_embeds, c.embedding_dropout);
  }
};

ModelPointer build_starcoder2(const Config& c, const ModelOptions& options) {
  return build_checked<DecoderForCausalLM<Starcoder2Parts>>(c, Starcoder2Config(c, options),
                                                            options);
}

}  // namespace

extern const FamilyFacts kStarcoder2{.model_type = "starcoder2",
                                     .ties_head = Known::yes,
                                     .has_bos = Known::yes,
                                     .tp_plan = TpPlan::dense,
                                     .modeling = kDecoder,
                                     .classifiers = {.sequences = true, .tokens = true},
                                     .build = build_starcoder2};

}  // namespace memtape::family
