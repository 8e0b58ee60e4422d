// SPDX-License-Identifier: Apache-2.0
// Seed-OSS: Llama with dropout behind attention and MLP; mirroring transformers 5.17
// models/seed_oss/modular_seed_oss.py.
#include "family/facts.h"
#include "family/parts/attention_steps.h"
#include "family/parts/decoder.h"
#include "family/parts/llama_layer.h"
#include "ghost/ops/dropout.h"

namespace memtape::family {
namespace {

struct SeedOssConfig : DecoderConfig {
  SeedOssConfig(const Config& c, const ModelOptions& options)
      : DecoderConfig(c, options,
                      {.vocab_size = 155136,
                       .intermediate_size = 27648,
                       .num_hidden_layers = 64,
                       .num_attention_heads = 80,
                       .num_key_value_heads = 8,
                       .head_dim = c.has("head_dim") ? 0 : 128}),
        residual_dropout(c.number("residual_dropout", 0.1)) {
    attention_dropout = c.number("attention_dropout", 0.1);
    qkv_bias = c.boolean("attention_bias", true);
    o_bias = c.boolean("attention_out_bias", false);
    mlp_bias = c.boolean("mlp_bias", false);
  }
  double residual_dropout;
};

class SeedOssMLP : public LlamaMLP {
 public:
  SeedOssMLP(const nn::Scope& scope, const SeedOssConfig& c)
      : LlamaMLP(scope, c), residual_dropout_(c.residual_dropout) {}
  Tensor operator()(const Tensor& x) {
    const Tensor down_proj = LlamaMLP::operator()(x);
    return ghost::dropout(down_proj, residual_dropout_);
  }

 private:
  double residual_dropout_;
};

struct SeedOssParts : DecoderParts {
  using Settings = SeedOssConfig;
  using DecoderLayer = PreNormDecoderLayer<AttentionOf<ResidualDropout>, SeedOssMLP>;
  using Norm = LlamaRMSNorm;
};

ModelPointer build_seed_oss(const Config& c, const ModelOptions& options) {
  return build_checked<DecoderForCausalLM<SeedOssParts>>(c, SeedOssConfig(c, options), options);
}

}  // namespace

extern const FamilyFacts kSeedOss{
    .model_type = "seed_oss",
    .first = {4, 56, 0},
    .ties_head = Known::no,
    .has_bos = Known::yes,
    .modeling = kDecoder,
    .classifiers = {.sequences = true, .tokens = true, .answers = true},
    .build = build_seed_oss};

}  // namespace memtape::family
