// SPDX-License-Identifier: Apache-2.0
#include "family/parts/llama_layer.h"

#include "family/facts.h"
#include "ghost/ops/pointwise.h"

namespace memtape::family {

AttentionCall attention_call(const DecoderConfig& c) {
  return {.implementation = c.attention,
          .num_key_value_groups = c.num_attention_heads / c.num_key_value_heads,
          .dropout = c.attention_dropout,
          .softcap = c.attn_logit_softcapping};
}

LlamaRMSNorm::LlamaRMSNorm(const nn::Scope& scope, std::int64_t hidden_size)
    : Module(scope), weight_(scope.parameter("weight", {hidden_size})) {}

Tensor LlamaRMSNorm::forward(const Tensor& x) {
  const DType input_dtype = x.dtype();
  Tensor hidden_states = x.to_float();
  const Tensor variance = hidden_states.pow(2).mean(-1, true);
  hidden_states = hidden_states.mul(ghost::rsqrt(variance.add(1e-6)));
  return weight_.mul(hidden_states.to(input_dtype));
}

LlamaMLP::LlamaMLP(const nn::Scope& scope, const DecoderConfig& c)
    : Module(scope),
      gate_proj_(scope / "gate_proj", c.hidden_size, c.intermediate_size, c.mlp_bias),
      up_proj_(scope / "up_proj", c.hidden_size, c.intermediate_size, c.mlp_bias),
      down_proj_(scope / "down_proj", c.intermediate_size, c.hidden_size, c.mlp_bias),
      act_fn_(c.hidden_act) {}

Tensor LlamaMLP::forward(const Tensor& x) {
  return down_proj_(act_fn_(gate_proj_(x)).mul(up_proj_(x)));
}

DecoderConfig llama_config(const Config& c, const ModelOptions& options) {
  DecoderConfig config(c, options, {});
  config.qkv_bias = config.o_bias = c.boolean("attention_bias", false);
  config.mlp_bias = c.boolean("mlp_bias", false);
  config.have_own_ropes(OwnRopes::unread);
  have_early_llama(c, config);
  return config;
}

namespace {

/// Model types that transformers runs as LlamaForCausalLM: a configuration class with names of its
/// own for a few keys, and no modeling file (models/exaone, internlm3, iquestcoder).
DecoderConfig config_of_llama_by_name(const Config& c, const ModelOptions& options,
                                      const DecoderDefaults& defaults) {
  DecoderConfig config(c, options, defaults);
  config.num_hidden_layers =
      c.layers({"num_hidden_layers", "num_layers"}, defaults.num_hidden_layers);
  config.layer_types.assign(static_cast<std::size_t>(config.num_hidden_layers),
                            LayerType::full_attention);
  config.qkv_bias = config.o_bias = c.boolean("attention_bias", c.boolean("qkv_bias", false));
  config.mlp_bias = c.boolean("mlp_bias", c.boolean("bias", false));
  return config;
}

}  // namespace

/// Mistral: no biases, and a window of 4,096 tokens unless the configuration says null
/// (modular_mistral.py).
DecoderConfig mistral_config(const Config& c, const ModelOptions& options) {
  DecoderConfig config(c, options, {.intermediate_size = 14336, .num_key_value_heads = 8});
  config.sliding_window = c.has("sliding_window") ? c.optional_dimension("sliding_window") : 4096;
  if (config.sliding_window)
    config.layer_types.assign(config.layer_types.size(), LayerType::sliding_attention);
  config.knew_windows = true;
  config.have_own_ropes(OwnRopes::asked);
  have_early_mistral(c, config);
  return config;
}

/// Qwen2: biases on q, k and v; some layers may slide (modular_qwen2.py).
DecoderConfig qwen2_config(const Config& c, const ModelOptions& options) {
  DecoderConfig config(
      c, options, {.vocab_size = 151936, .intermediate_size = 22016, .num_key_value_heads = 32});
  config.qkv_bias = true;
  read_max_window_layers(c, config);
  config.have_own_ropes(OwnRopes::unread);
  have_early_qwen2(c, config);
  return config;
}

namespace {

ModelPointer build_llama(const Config& c, const ModelOptions& options) {
  return build_checked<DecoderForCausalLM<LlamaParts>>(c, llama_config(c, options), options);
}

ModelPointer build_exaone(const Config& c, const ModelOptions& options) {
  return build_checked<DecoderForCausalLM<LlamaParts>>(
      c,
      config_of_llama_by_name(
          c, options, {.vocab_size = 102400, .intermediate_size = 14336, .num_key_value_heads = 8}),
      options);
}

ModelPointer build_internlm3(const Config& c, const ModelOptions& options) {
  return build_checked<DecoderForCausalLM<LlamaParts>>(
      c,
      config_of_llama_by_name(c, options,
                              {.vocab_size = 128512,
                               .intermediate_size = 10240,
                               .num_hidden_layers = 48,
                               .num_key_value_heads = 2,
                               .head_dim = 128}),
      options);
}

ModelPointer build_iquestcoder(const Config& c, const ModelOptions& options) {
  return build_checked<DecoderForCausalLM<LlamaParts>>(
      c,
      config_of_llama_by_name(c, options,
                              {.vocab_size = 76800,
                               .hidden_size = 5120,
                               .intermediate_size = 27648,
                               .num_hidden_layers = 80,
                               .num_attention_heads = 40,
                               .num_key_value_heads = 8,
                               .head_dim = 128}),
      options);
}

ModelPointer build_mistral(const Config& c, const ModelOptions& options) {
  return build_checked<DecoderForCausalLM<LlamaParts>>(c, mistral_config(c, options), options);
}

ModelPointer build_qwen2(const Config& c, const ModelOptions& options) {
  return build_checked<DecoderForCausalLM<LlamaParts>>(c, qwen2_config(c, options), options);
}

}  // namespace

extern const FamilyFacts kLlama{.model_type = "llama",
                                .ties_head = Known::no,
                                .has_bos = Known::yes,
                                .tp_plan = TpPlan::dense,
                                .modeling = kDecoder,
                                .classifiers = {.sequences = true, .tokens = true, .answers = true},
                                .build = build_llama};

extern const FamilyFacts kExaone{.model_type = "exaone",
                                 .nearest = "llama",
                                 .first = {5, 24, 0},
                                 .ties_head = Known::no,
                                 .has_bos = Known::yes,
                                 .tp_plan = TpPlan::dense,
                                 .modeling = kDecoder,
                                 .build = build_exaone};

extern const FamilyFacts kInternlm3{.model_type = "internlm3",
                                    .nearest = "llama",
                                    .first = {5, 23, 0},
                                    .ties_head = Known::no,
                                    .has_bos = Known::yes,
                                    .tp_plan = TpPlan::dense,
                                    .modeling = kDecoder,
                                    .build = build_internlm3};

extern const FamilyFacts kIquestcoder{.model_type = "iquestcoder",
                                      .nearest = "llama",
                                      .first = {5, 23, 0},
                                      .ties_head = Known::no,
                                      .has_bos = Known::yes,
                                      .tp_plan = TpPlan::dense,
                                      .modeling = kDecoder,
                                      .build = build_iquestcoder};

extern const FamilyFacts kMistral{
    .model_type = "mistral",
    .ties_head = Known::no,
    .has_bos = Known::yes,
    .tp_plan = TpPlan::dense,
    .modeling = kDecoder,
    .classifiers = {.sequences = true, .tokens = true, .answers = true},
    .build = build_mistral};

extern const FamilyFacts kQwen2{.model_type = "qwen2",
                                .ties_head = Known::no,
                                .has_bos = Known::no,
                                .tp_plan = TpPlan::dense,
                                .modeling = kDecoder,
                                .classifiers = {.sequences = true, .tokens = true, .answers = true},
                                .build = build_qwen2};

extern const FamilyFacts kMimo{.model_type = "mimo",
                               .nearest = "qwen2",
                               .ties_head = Known::no,
                               .has_bos = Known::no,
                               .modeling = kDecoder,
                               .build = build_qwen2};

}  // namespace memtape::family
