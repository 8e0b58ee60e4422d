// SPDX-License-Identifier: Apache-2.0
// Mellum 2: Qwen3-MoE with layers that slide, each type of layer with a rope of its own; mirroring
// transformers 5.17 models/mellum/modular_mellum.py.
#include <vector>

#include "family/facts.h"
#include "family/models/qwen3_moe.h"
#include "family/parts/deepseek_moe.h"
#include "family/parts/qwen3_attention.h"

namespace memtape::family {
namespace {

struct MellumConfig : MoeConfig {
  MellumConfig(const Config& c, const ModelOptions& options)
      : MoeConfig(c, options,
                  {.vocab_size = 98304,
                   .hidden_size = 2304,
                   .intermediate_size = 7168,
                   .num_hidden_layers = 28,
                   .num_attention_heads = 32,
                   .num_key_value_heads = 4,
                   .head_dim = 128},
                  {.num_experts = 64, .num_experts_per_tok = 8, .intermediate_size = 896}),
        sparse_layers(read_mlp_layer_types(c, num_hidden_layers, 0)) {
    qkv_bias = o_bias = c.boolean("attention_bias", false);
    norm_topk_prob = c.boolean("norm_topk_prob", true);
    sliding_window = c.has("sliding_window") ? c.optional_dimension("sliding_window") : 1024;
    layer_types = read_layer_types(c, num_hidden_layers,
                                   [](std::int64_t) { return LayerType::full_attention; });
    check_sliding_window(c, *this);
    masks_by_layer_type = true;
    ropes = layer_ropes(c, head_dim, layer_types);
  }
  bool has_experts(std::int64_t layer) const {
    return sparse_layers[static_cast<std::size_t>(layer)];
  }

  std::vector<bool> sparse_layers;
  LayerRopes ropes;
};

struct MellumParts : MoeParts {
  using Settings = MellumConfig;
  using DecoderLayer = PreNormDecoderLayer<Qwen3Attention, MaybeSparseMlp<Qwen3MoeSparseMoeBlock>>;
  using Norm = LlamaRMSNorm;
  using Rotary = LayerTypeRotaryEmbedding;
  static const LayerRopes& rope(const MellumConfig& c) { return c.ropes; }
};

ModelPointer build_mellum(const Config& c, const ModelOptions& options) {
  return build_checked<MoeForCausalLM<MellumParts>>(c, MellumConfig(c, options), options);
}

}  // namespace

extern const FamilyFacts kMellum{.model_type = "mellum",
                                 .first = {5, 10, 0},
                                 .ties_head = Known::no,
                                 .has_bos = Known::no,
                                 .modeling = kDecoder,
                                 .build = build_mellum};

}  // namespace memtape::family
