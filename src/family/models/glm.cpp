// SPDX-License-Identifier: Apache-2.0
// GLM 4: Llama in which a part of each head is rotated, neighbour with neighbour, and gate and up
// come from one projection; the releases of 2025 (glm4) have norms behind attention and MLP, too.
// Mirroring transformers 5.17 models/glm/modular_glm.py and models/glm4/modular_glm4.py.
#include "family/facts.h"
#include "family/parts/attention_of.h"
#include "family/parts/decoder.h"
#include "family/parts/glm4_layer.h"
#include "family/parts/llama_layer.h"
#include "family/parts/phi3_mlp.h"
#include "family/parts/rotate_pairs.h"

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

struct Glm4Parts : DecoderParts {
  using DecoderLayer = Glm4DecoderLayer<GlmAttention>;
  using Norm = LlamaRMSNorm;
};

ModelPointer build_glm(const Config& c, const ModelOptions& options) {
  return build_checked<DecoderForCausalLM<GlmParts>>(c, glm_config(c, options), options);
}

ModelPointer build_glm4(const Config& c, const ModelOptions& options) {
  return build_checked<DecoderForCausalLM<Glm4Parts>>(c, glm_config(c, options), options);
}

}  // namespace

extern const FamilyFacts kGlm{.model_type = "glm",
                              .first = {4, 46, 0},
                              .ties_head = Known::no,
                              .has_bos = Known::no,
                              .modeling = kDecoder,
                              .classifiers = {.sequences = true, .tokens = true},
                              .build = build_glm};

extern const FamilyFacts kGlm4{.model_type = "glm4",
                               .first = {4, 51, 0},
                               .ties_head = Known::no,
                               .has_bos = Known::no,
                               .modeling = kDecoder,
                               .classifiers = {.sequences = true, .tokens = true},
                               .build = build_glm4};

}  // namespace memtape::family
