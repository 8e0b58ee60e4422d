// SPDX-License-Identifier: Apache-2.0
// Helium: Llama with neighbours rotated instead of halves and norms weighted in float32; mirroring
// transformers 5.17 models/helium/modular_helium.py.
#include "family/facts.h"
#include "family/parts/attention_of.h"
#include "family/parts/config_checks.h"
#include "family/parts/decoder.h"
#include "family/parts/llama_layer.h"
#include "family/parts/rms_norms.h"
#include "family/parts/rotate_pairs.h"

namespace memtape::family {
namespace {

struct HeliumParts : DecoderParts {
  using DecoderLayer =
      PreNormDecoderLayer<AttentionOf<Rotated<rotate_pairs>>, LlamaMLP, HeliumRMSNorm>;
  using Norm = HeliumRMSNorm;
};

ModelPointer build_helium(const Config& c, const ModelOptions& options) {
  DecoderConfig config(c, options,
                       {.vocab_size = 48000,
                        .hidden_size = 2560,
                        .intermediate_size = 7040,
                        .num_hidden_layers = 24,
                        .num_attention_heads = 20,
                        .num_key_value_heads = 20,
                        .head_dim = 128});
  config.qkv_bias = c.boolean("attention_bias", false);
  config.mlp_bias = c.boolean("mlp_bias", false);
  check_heads_fill(c, config.num_attention_heads, config.head_dim, config.hidden_size);
  return build_checked<DecoderForCausalLM<HeliumParts>>(c, config, options);
}

}  // namespace

extern const FamilyFacts kHelium{.model_type = "helium",
                                 .first = {4, 49, 0},
                                 .ties_head = Known::no,
                                 .has_bos = Known::yes,
                                 .modeling = kDecoder,
                                 .classifiers = {.sequences = true, .tokens = true},
                                 .build = build_helium};

}  // namespace memtape::family
