// SPDX-License-Identifier: Apache-2.0
// Qwen3: Llama with RMS norms on the heads of q and k, mirroring transformers 5.17
// models/qwen3/modular_qwen3.py.
#include "family/parts/qwen3_attention.h"

#include "family/facts.h"

namespace memtape::family {

DecoderConfig qwen3_config(const Config& c, const ModelOptions& options) {
  DecoderConfig config(c, options,
                       {.vocab_size = 151936,
                        .intermediate_size = 22016,
                        .num_key_value_heads = 32,
                        .head_dim = 128});
  config.qkv_bias = config.o_bias = c.boolean("attention_bias", false);
  read_max_window_layers(c, config);
  return config;
}

namespace {

ModelPointer build_qwen3(const Config& c, const ModelOptions& options) {
  return build_checked<DecoderForCausalLM<Qwen3Parts>>(c, qwen3_config(c, options), options);
}

}  // namespace

extern const FamilyFacts kQwen3{.model_type = "qwen3",
                                .first = {4, 51, 0},
                                .ties_head = Known::no,
                                .has_bos = Known::no,
                                .tp_plan = TpPlan::norms_heads,
                                .modeling = kDecoder,
                                .classifiers = {.sequences = true, .tokens = true, .answers = true},
                                .build = build_qwen3};

}  // namespace memtape::family
