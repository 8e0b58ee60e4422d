// SPDX-License-Identifier: Apache-2.0
// DeepSeek-V3 and R1: latent attention, rotated in neighbouring pairs, and a router of sigmoid
// scores with a bias to keep the load even; Sarvam's larger mixture, which transformers 5.24 runs as
// DeepseekV3ForCausalLM (models/sarvam_mla); mirroring transformers 5.17
// models/deepseek_v3/modeling_deepseek_v3.py.
#include "family/facts.h"
#include "family/parts/deepseek.h"

namespace memtape::family {
namespace {

struct DeepseekV3Config : DeepseekConfig {
  DeepseekV3Config(const Config& c, const ModelOptions& options)
      : DeepseekConfig(c, options,
                       {.vocab_size = 129280,
                        .hidden_size = 7168,
                        .intermediate_size = 18432,
                        .num_hidden_layers = 61,
                        .num_attention_heads = 128,
                        .num_key_value_heads = 128},
                       {.experts_key = "n_routed_experts",
                        .num_experts = 256,
                        .num_experts_per_tok = 8,
                        .intermediate_size = 2048}) {
    first_k_dense_replace = c.count("first_k_dense_replace", 3);
    norm_topk_prob = c.boolean("norm_topk_prob", true);
    n_shared_experts = c.dimension("n_shared_experts", 1);
    rope_interleave = c.boolean("rope_interleave", true);
    read_groups_of_two_best(c, 8, 4);
  }
};

/// Its published config.json names experts as its own code did.
struct SarvamMlaConfig : DeepseekConfig {
  SarvamMlaConfig(const Config& c, const ModelOptions& options)
      : DeepseekConfig(c, options,
                       {.vocab_size = 262144,
                        .hidden_size = 4096,
                        .intermediate_size = 16384,
                        .num_hidden_layers = 32,
                        .num_attention_heads = 64,
                        .num_key_value_heads = c.dimension("num_attention_heads", 64)},
                       {.experts_key = {"n_routed_experts", "num_local_experts", "num_experts"},
                        .num_experts = 128,
                        .num_experts_per_tok = 8,
                        .intermediate_size = 2048}) {
    if (!c.has("q_lora_rank")) q_lora_rank.reset();
    first_k_dense_replace = c.count("first_k_dense_replace", 1);
    norm_topk_prob = c.boolean("norm_topk_prob", true);
    n_shared_experts =
        c.dimension(c.has("n_shared_experts") ? "n_shared_experts" : "num_shared_experts", 1);
    rope_interleave = c.boolean("rope_interleave", true);
    read_groups_of_two_best(c, 1, 1);
  }
};

struct DeepseekV3Parts : MoeParts {
  using Settings = DeepseekConfig;
  using DecoderLayer =
      PreNormDecoderLayer<DeepseekV3Attention, MaybeSparseMlp<DeepseekMoe<DeepseekV3TopkRouter>>>;
  using Norm = LlamaRMSNorm;
};

ModelPointer build_deepseek_v3(const Config& c, const ModelOptions& options) {
  return build_checked<DecoderForCausalLM<DeepseekV3Parts>>(c, DeepseekV3Config(c, options),
                                                            options);
}

ModelPointer build_sarvam_mla(const Config& c, const ModelOptions& options) {
  return build_checked<DecoderForCausalLM<DeepseekV3Parts>>(c, SarvamMlaConfig(c, options),
                                                            options);
}

}  // namespace

extern const FamilyFacts kDeepseekV3{.model_type = "deepseek_v3",
                                     .first = {4, 51, 0},
                                     .ties_head = Known::no,
                                     .has_bos = Known::yes,
                                     .modeling = kDecoder,
                                     .classifiers = {.sequences = true, .tokens = true},
                                     .build = build_deepseek_v3};

extern const FamilyFacts kKimiK2{.model_type = "kimi_k2",
                                 .nearest = "deepseek_v3",
                                 .ties_head = Known::no,
                                 .has_bos = Known::yes,
                                 .modeling = kDecoder,
                                 .build = build_deepseek_v3};

extern const FamilyFacts kSarvamMla{.model_type = "sarvam_mla",
                                    .first = {5, 24, 0},
                                    .ties_head = Known::no,
                                    .has_bos = Known::yes,
                                    .modeling = kDecoder,
                                    .build = build_sarvam_mla};

}  // namespace memtape::family
