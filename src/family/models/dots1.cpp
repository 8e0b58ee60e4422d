// SPDX-License-Identifier: Apache-2.0
// dots.llm1: Qwen3's attention over DeepSeek-V3's experts; mirroring transformers 5.17
// models/dots1/modular_dots1.py.
#include "family/facts.h"
#include "family/parts/decoder.h"
#include "family/parts/deepseek_moe.h"
#include "family/parts/qwen3_attention.h"

namespace memtape::family {
namespace {

struct Dots1Config : DeepseekMoeConfig {
  Dots1Config(const Config& c, const ModelOptions& options)
      : DeepseekMoeConfig(c, options,
                          {.vocab_size = 152064,
                           .hidden_size = 4608,
                           .intermediate_size = 10944,
                           .num_hidden_layers = 62,
                           .num_key_value_heads = 32},
                          {.experts_key = {"n_routed_experts", "num_local_experts"},
                           .num_experts = 128,
                           .num_experts_per_tok = 6,
                           .intermediate_size = 1408}) {
    qkv_bias = o_bias = c.boolean("attention_bias", false);
    first_k_dense_replace = c.count("first_k_dense_replace", 0);
    n_shared_experts = c.dimension("n_shared_experts", 2);
    read_groups_of_two_best(c, 1, 1);
    sliding_window = c.has("sliding_window") ? c.optional_dimension("sliding_window") : 4096;
    const std::int64_t first = c.count("max_window_layers", 62);
    layer_types = read_layer_types(c, num_hidden_layers,
                                   [](std::int64_t) { return LayerType::full_attention; });
    if (sliding_window && c.is_null("layer_types"))
      for (std::int64_t i = first; i < num_hidden_layers; ++i)
        layer_types[static_cast<std::size_t>(i)] = LayerType::sliding_attention;
    masks_by_layer_type = true;
  }
};

struct Dots1Parts : MoeParts {
  using Settings = Dots1Config;
  using DecoderLayer =
      PreNormDecoderLayer<Qwen3Attention, MaybeSparseMlp<DeepseekMoe<DeepseekV3TopkRouter>>>;
  using Norm = LlamaRMSNorm;
};

ModelPointer build_dots1(const Config& c, const ModelOptions& options) {
  return build_checked<DecoderForCausalLM<Dots1Parts>>(c, Dots1Config(c, options), options);
}

}  // namespace

extern const FamilyFacts kDots1{.model_type = "dots1",
                                .first = {4, 53, 0},
                                .ties_head = Known::no,
                                .has_bos = Known::no,
                                .modeling = kDecoder,
                                .build = build_dots1};

}  // namespace memtape::family
