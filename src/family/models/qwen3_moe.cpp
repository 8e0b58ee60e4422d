// SPDX-License-Identifier: Apache-2.0
// Qwen3-MoE: Qwen3 with experts, mirroring transformers 5.17 models/qwen3_moe/modular_qwen3_moe.py.
#include "family/models/qwen3_moe.h"
#include "family/facts.h"
#include "family/parts/qwen3_attention.h"

namespace memtape::family {
namespace {

struct Qwen3MoeConfig : QwenMoeConfig {
  Qwen3MoeConfig(const Config& c, const ModelOptions& options)
      : QwenMoeConfig(c, options,
                      {.vocab_size = 151936,
                       .hidden_size = 2048,
                       .intermediate_size = 6144,
                       .num_hidden_layers = 24,
                       .num_attention_heads = 32,
                       .num_key_value_heads = 4},
                      {.num_experts = 128, .num_experts_per_tok = 8, .intermediate_size = 768}) {
    qkv_bias = o_bias = c.boolean("attention_bias", false);
    knew_windows = true;
    if (!c.boolean("use_sliding_window", false)) return;
    sliding_window = c.has("sliding_window") ? c.optional_dimension("sliding_window") : 4096;
    if (sliding_window) layer_types.assign(layer_types.size(), LayerType::sliding_attention);
  }
};

struct Qwen3MoeParts : MoeParts {
  using Settings = Qwen3MoeConfig;
  using DecoderLayer = PreNormDecoderLayer<Qwen3Attention, MaybeSparseMlp<Qwen3MoeSparseMoeBlock>>;
  using Norm = LlamaRMSNorm;
};

ModelPointer build_qwen3_moe(const Config& c, const ModelOptions& options) {
  return build_moe<Qwen3MoeParts>(c, Qwen3MoeConfig(c, options), options);
}

}  // namespace

extern const FamilyFacts kQwen3Moe{
    .model_type = "qwen3_moe",
    .first = {4, 51, 0},
    .ties_head = Known::no,
    .has_bos = Known::no,
    .modeling = kDecoder,
    .classifiers = {.sequences = true, .tokens = true, .answers = true},
    .build = build_qwen3_moe};

}  // namespace memtape::family
