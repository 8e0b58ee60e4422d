// SPDX-License-Identifier: Apache-2.0
// Youtu-LLM: Llama's layers with DeepSeek-V3's latent attention; mirroring transformers 5.17
// models/youtu/modular_youtu.py.
#include "family/facts.h"
#include "family/parts/deepseek.h"

namespace memtape::family {
namespace {

struct YoutuParts : DecoderParts {
  using Settings = DeepseekConfig;
  using DecoderLayer = PreNormDecoderLayer<DeepseekV3Attention>;
  using Norm = LlamaRMSNorm;
};

ModelPointer build_youtu(const Config& c, const ModelOptions& options) {
  DeepseekConfig config(c, options,
                        {.vocab_size = 128256,
                         .hidden_size = 2048,
                         .intermediate_size = 6144,
                         .num_attention_heads = 16,
                         .num_key_value_heads = 16,
                         .tie_word_embeddings = true},
                        {});
  config.rope_interleave = c.boolean("rope_interleave", true);
  return build_checked<DecoderForCausalLM<YoutuParts>>(c, config, options);
}

}  // namespace

extern const FamilyFacts kYoutu{.model_type = "youtu",
                                .first = {5, 1, 0},
                                .ties_head = Known::yes,
                                .has_bos = Known::yes,
                                .modeling = kDecoder,
                                .build = build_youtu};

}  // namespace memtape::family
