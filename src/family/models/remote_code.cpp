// SPDX-License-Identifier: Apache-2.0
// Models whose code lies in their own repository on the hub (trust_remote_code) and not in
// transformers 5.17: each is built as the family of transformers that is nearest to it. Their
// parameters are the same in number; their activations are the nearest family's.
#include "family/facts.h"
#include "family/parts/config_checks.h"
#include "family/parts/decoder.h"
#include "family/parts/deepseek_moe.h"
#include "family/parts/llama_layer.h"

namespace memtape::family {
namespace {

struct LlamaLikeParts : DecoderParts {
  using DecoderLayer = LlamaDecoderLayer;
  using Norm = LlamaRMSNorm;
};

ModelPointer build_llama_like(const Config& c, const DecoderConfig& config,
                              const ModelOptions& options) {
  return build_checked<DecoderForCausalLM<LlamaLikeParts>>(c, config, options);
}

/// DeepSeek-MoE's router: softmax scores without groups.
class DeepseekRouter : public TopKRouter {
 public:
  DeepseekRouter(const nn::Scope& scope, const MoeConfig& c)
      : TopKRouter(scope, c, TopKRouter::Style::qwen2) {}
};

struct DeepseekV1Config : DeepseekMoeConfig {
  DeepseekV1Config(const Config& c, const ModelOptions& options)
      : DeepseekMoeConfig(c, options, {.vocab_size = 102400},
                          {.experts_key = "n_routed_experts",
                           .num_experts = 64,
                           .num_experts_per_tok = 6,
                           .intermediate_size = 1407}) {
    qkv_bias = o_bias = c.boolean("attention_bias", false);
    n_shared_experts = c.optional_dimension("n_shared_experts").value_or(1);
    loop.reset();
  }
};

struct DeepseekV1Parts : MoeParts {
  using Settings = DeepseekV1Config;
  using DecoderLayer =
      PreNormDecoderLayer<LlamaAttention, MaybeSparseMlp<DeepseekMoe<DeepseekRouter>>>;
  using Norm = LlamaRMSNorm;
};

/// Baichuan: one projection W_pack for q, k and v; the 13B models have ALiBi in place of rotation.
ModelPointer build_baichuan(const Config& c, const ModelOptions& options) {
  return build_llama_like(c, DecoderConfig(c, options, {.vocab_size = 125696}), options);
}

/// ChatGLM 2 and 3: names of its own, biases on q, k and v, few key heads.
ModelPointer build_chatglm(const Config& c, const ModelOptions& options) {
  DecoderConfig config(c, options, {.vocab_size = 65024, .intermediate_size = 13696});
  config.vocab_size = c.dimension("padded_vocab_size", 65024);
  config.intermediate_size = c.dimension("ffn_hidden_size", 13696);
  config.num_hidden_layers = c.layers("num_layers", 28);
  config.layer_types.assign(static_cast<std::size_t>(config.num_hidden_layers),
                            LayerType::full_attention);
  config.head_dim = c.dimension("kv_channels", 128);
  config.rope.dim = config.head_dim;
  if (c.boolean("multi_query_attention", false))
    config.num_key_value_heads = c.dimension("multi_query_group_num", 1);
  check_divides(c, "multi_query_group_num", config.num_key_value_heads, config.num_attention_heads);
  config.mlp_bias = config.o_bias = c.boolean("add_bias_linear", true);
  config.qkv_bias = config.mlp_bias || c.boolean("add_qkv_bias", false);
  return build_llama_like(c, config, options);
}

/// InternLM 2: Llama with q, k and v in one projection.
ModelPointer build_internlm2(const Config& c, const ModelOptions& options) {
  DecoderConfig config(c, options, {.vocab_size = 103168});
  config.qkv_bias = config.o_bias = c.boolean("bias", true);
  return build_llama_like(c, config, options);
}

/// DeepSeek-MoE: Llama's attention over DeepSeek's blocks of experts.
ModelPointer build_deepseek(const Config& c, const ModelOptions& options) {
  return build_checked<DecoderForCausalLM<DeepseekV1Parts>>(c, DeepseekV1Config(c, options),
                                                            options);
}

}  // namespace

extern const FamilyFacts kBaichuan{.model_type = "baichuan",
                                   .nearest = "llama",
                                   .ties_head = Known::no,
                                   .has_bos = Known::yes,
                                   .modeling = kDecoder,
                                   .build = build_baichuan};

extern const FamilyFacts kChatglm{.model_type = "chatglm",
                                  .nearest = "llama",
                                  .ties_head = Known::no,
                                  .has_bos = Known::no,
                                  .modeling = kDecoder,
                                  .build = build_chatglm};

extern const FamilyFacts kInternlm2{.model_type = "internlm2",
                                    .nearest = "llama",
                                    .ties_head = Known::no,
                                    .has_bos = Known::yes,
                                    .modeling = kDecoder,
                                    .build = build_internlm2};

extern const FamilyFacts kDeepseek{.model_type = "deepseek",
                                   .nearest = "deepseek_v2",
                                   .ties_head = Known::no,
                                   .has_bos = Known::yes,
                                   .modeling = kDecoder,
                                   .build = build_deepseek};

}  // namespace memtape::family
