// SPDX-License-Identifier: Apache-2.0
// Arcee: Llama with an MLP that has no gate; mirroring transformers 5.17
// models/arcee/modular_arcee.py.
#include "family/facts.h"
#include "family/parts/decoder.h"
#include "family/parts/llama_layer.h"
#include "family/parts/ungated_mlp.h"

namespace memtape::family {
namespace {

struct ArceeParts : DecoderParts {
  using DecoderLayer = PreNormDecoderLayer<LlamaAttention, UngatedMlp>;
  using Norm = LlamaRMSNorm;
};

ModelPointer build_arcee(const Config& c, const ModelOptions& options) {
  DecoderConfig config(c, options,
                       {.hidden_size = 2560, .intermediate_size = 18432, .hidden_act = "relu2"});
  config.qkv_bias = config.o_bias = c.boolean("attention_bias", false);
  config.mlp_bias = c.boolean("mlp_bias", false);
  return build_checked<DecoderForCausalLM<ArceeParts>>(c, config, options);
}

}  // namespace

extern const FamilyFacts kArcee{.model_type = "arcee",
                                .first = {4, 53, 0},
                                .ties_head = Known::no,
                                .has_bos = Known::yes,
                                .modeling = kDecoder,
                                .classifiers = {.sequences = true, .tokens = true, .answers = true},
                                .build = build_arcee};

}  // namespace memtape::family
