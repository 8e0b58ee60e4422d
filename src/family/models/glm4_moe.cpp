// SPDX-License-Identifier: Apache-2.0
// GLM 4.5: DeepSeek-V3's experts under attention that rotates a part of each head; Sarvam's mixture,
// which transformers 5.24 runs as Glm4MoeForCausalLM (models/sarvam_moe); Solar Open: the same
// experts in every layer, under Llama's attention. Mirroring transformers 5.17
// models/glm4_moe/modular_glm4_moe.py and models/solar_open/modular_solar_open.py.
#include "family/models/glm4_moe.h"

#include <optional>

#include "family/facts.h"
#include "family/parts/decoder.h"

namespace memtape::family {

Glm4MoeConfig::Glm4MoeConfig(const Config& c, const ModelOptions& options, const Defaults& defaults)
    : DeepseekMoeConfig(c, options,
                        {.vocab_size = defaults.vocab_size,
                         .intermediate_size = defaults.intermediate_size,
                         .num_hidden_layers = defaults.num_hidden_layers,
                         .num_attention_heads = defaults.num_attention_heads,
                         .num_key_value_heads = defaults.num_key_value_heads},
                        {.experts_key = {"n_routed_experts", "num_local_experts", "num_experts"},
                         .num_experts = 128,
                         .num_experts_per_tok = defaults.num_experts_per_tok,
                         .intermediate_size = defaults.moe_intermediate_size}),
      use_qk_norm(c.boolean("use_qk_norm", defaults.use_qk_norm)) {
  rope = rope_parameters(c, head_dim, "partial_rotary_factor", defaults.partial_rotary_factor);
  qkv_bias = c.boolean("attention_bias", defaults.attention_bias);
  first_k_dense_replace = c.count("first_k_dense_replace", 1);
  norm_topk_prob = c.boolean("norm_topk_prob", true);
  n_shared_experts = c.dimension("n_shared_experts", 1);
  float32_correction_bias = true;
  read_groups_of_two_best(c, 1, 1);
}

namespace {

struct Glm4MoeSteps : Rotated<apply_rotary_pos_emb_to_part> {
  Glm4MoeSteps(const nn::Scope& scope, const Glm4MoeConfig& c, std::int64_t layer)
      : Rotated(scope, c, layer) {
    if (c.use_qk_norm) norms.emplace(scope, c);
  }
  void heads(Tensor& q, Tensor& k) {
    if (norms) (*norms)(q, k);
  }
  std::optional<HeadNorms<LlamaRMSNorm>> norms;
};

struct Glm4MoeParts : MoeParts {
  using Settings = Glm4MoeConfig;
  using DecoderLayer = PreNormDecoderLayer<AttentionOf<Glm4MoeSteps>,
                                           MaybeSparseMlp<DeepseekMoe<DeepseekV3TopkRouter>>>;
  using Norm = LlamaRMSNorm;
};

struct SolarOpenConfig : DeepseekMoeConfig {
  SolarOpenConfig(const Config& c, const ModelOptions& options)
      : DeepseekMoeConfig(c, options,
                          {.vocab_size = 196608,
                           .num_hidden_layers = 48,
                           .num_attention_heads = 64,
                           .num_key_value_heads = 8,
                           .head_dim = 128},
                          {.experts_key = {"n_routed_experts", "num_local_experts"},
                           .num_experts = 128,
                           .intermediate_size = 1280}) {
    qkv_bias = c.boolean("attention_bias", false);
    norm_topk_prob = c.boolean("norm_topk_prob", true);
    n_shared_experts = c.dimension("n_shared_experts", 1);
    float32_correction_bias = true;
    read_groups_of_two_best(c, 1, 1);
  }
};

struct SolarOpenParts : MoeParts {
  using Settings = SolarOpenConfig;
  using DecoderLayer = PreNormDecoderLayer<LlamaAttention, DeepseekMoe<DeepseekV3TopkRouter>>;
  using Norm = LlamaRMSNorm;
};

ModelPointer build_glm4_moe(const Config& c, const ModelOptions& options) {
  return build_checked<DecoderForCausalLM<Glm4MoeParts>>(c, Glm4MoeConfig(c, options, {}), options);
}

ModelPointer build_sarvam_moe(const Config& c, const ModelOptions& options) {
  const Glm4MoeConfig config(c, options,
                             {.vocab_size = 262144,
                              .intermediate_size = 8192,
                              .num_hidden_layers = 19,
                              .num_attention_heads = 64,
                              .num_key_value_heads = 4,
                              .moe_intermediate_size = 1024,
                              .num_experts_per_tok = 6,
                              .use_qk_norm = true,
                              .partial_rotary_factor = 1.0});
  return build_checked<DecoderForCausalLM<Glm4MoeParts>>(c, config, options);
}

ModelPointer build_solar_open(const Config& c, const ModelOptions& options) {
  return build_checked<DecoderForCausalLM<SolarOpenParts>>(c, SolarOpenConfig(c, options), options);
}

}  // namespace

extern const FamilyFacts kGlm4Moe{.model_type = "glm4_moe",
                                  .first = {4, 54, 0},
                                  .ties_head = Known::no,
                                  .has_bos = Known::no,
                                  .modeling = kDecoder,
                                  .build = build_glm4_moe};

extern const FamilyFacts kSarvamMoe{.model_type = "sarvam_moe",
                                    .first = {5, 24, 0},
                                    .ties_head = Known::no,
                                    .has_bos = Known::no,
                                    .modeling = kDecoder,
                                    .build = build_sarvam_moe};

extern const FamilyFacts kSolarOpen{.model_type = "solar_open",
                                    .first = {5, 0, 0},
                                    .ties_head = Known::no,
                                    .has_bos = Known::no,
                                    .modeling = kDecoder,
                                    .build = build_solar_open};

}  // namespace memtape::family
