// SPDX-License-Identifier: Apache-2.0
// GLM 4.7 Flash: GLM 4.5's experts under DeepSeek-V3's latent attention; mirroring transformers
// 5.17 models/glm4_moe_lite/modular_glm4_moe_lite.py.
#include <vector>

#include "family/facts.h"
#include "family/parts/deepseek.h"

namespace memtape::family {
namespace {

struct Glm4MoeLiteConfig : DeepseekConfig {
  Glm4MoeLiteConfig(const Config& c, const ModelOptions& options)
      : DeepseekConfig(c, options,
                       {.vocab_size = 154880,
                        .hidden_size = 2048,
                        .intermediate_size = 10240,
                        .num_hidden_layers = 47,
                        .num_attention_heads = 20,
                        .num_key_value_heads = 20},
                       {.experts_key = {"n_routed_experts", "num_local_experts"},
                        .num_experts = 64,
                        .num_experts_per_tok = 4,
                        .intermediate_size = 1536}),
        sparse_layers(read_mlp_layer_types(c, num_hidden_layers, 1)) {
    if (!c.has("q_lora_rank")) q_lora_rank = 768;
    qk_nope_head_dim = c.dimension("qk_nope_head_dim", 192);
    v_head_dim = c.dimension("v_head_dim", 256);
    norm_topk_prob = c.boolean("norm_topk_prob", true);
    n_shared_experts = c.dimension("n_shared_experts", 1);
    rope_interleave = c.boolean("rope_interleave", true);
    float32_correction_bias = true;
    read_groups_of_two_best(c, 1, 1);
  }

  bool has_experts(std::int64_t layer) const {
    return sparse_layers[static_cast<std::size_t>(layer)];
  }

  std::vector<bool> sparse_layers;
};

struct Glm4MoeLiteParts : MoeParts {
  using Settings = Glm4MoeLiteConfig;
  using DecoderLayer =
      PreNormDecoderLayer<DeepseekV3Attention, MaybeSparseMlp<DeepseekMoe<DeepseekV3TopkRouter>>>;
  using Norm = LlamaRMSNorm;
};

ModelPointer build_glm4_moe_lite(const Config& c, const ModelOptions& options) {
  return build_checked<DecoderForCausalLM<Glm4MoeLiteParts>>(c, Glm4MoeLiteConfig(c, options),
                                                             options);
}

}  // namespace

extern const FamilyFacts kGlm4MoeLite{.model_type = "glm4_moe_lite",
                                      .first = {5, 0, 0},
                                      .ties_head = Known::no,
                                      .has_bos = Known::yes,
                                      .modeling = kDecoder,
                                      .build = build_glm4_moe_lite};

}  // namespace memtape::family
