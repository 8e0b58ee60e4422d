// SPDX-License-Identifier: Apache-2.0
// Jais 2: Llama with layer norms, biases and an MLP without a gate; mirroring transformers 5.17
// models/jais2/modular_jais2.py.
#include "family/facts.h"
#include "family/parts/llama_layer.h"
#include "family/parts/ungated_mlp.h"

namespace memtape::family {
namespace {

struct Jais2Parts : DecoderParts {
  using DecoderLayer = PreNormDecoderLayer<LlamaAttention, UngatedMlp, nn::LayerNorm>;
  using Norm = nn::LayerNorm;
};

ModelPointer build_jais2(const Config& c, const ModelOptions& options) {
  DecoderConfig config(c, options,
                       {.vocab_size = 150272,
                        .hidden_size = 3328,
                        .intermediate_size = 26624,
                        .num_attention_heads = 26,
                        .hidden_act = "relu2"});
  config.qkv_bias = config.o_bias = c.boolean("attention_bias", true);
  config.mlp_bias = c.boolean("mlp_bias", true);
  return build_checked<DecoderForCausalLM<Jais2Parts>>(c, config, options);
}

}  // namespace

extern const FamilyFacts kJais2{.model_type = "jais2",
                                .first = {5, 0, 0},
                                .ties_head = Known::no,
                                .has_bos = Known::yes,
                                .modeling = kDecoder,
                                .build = build_jais2};

}  // namespace memtape::family
