// SPDX-License-Identifier: Apache-2.0
// CWM: Llama of which every fourth layer attends to all tokens and the others slide; mirroring
// transformers 5.17 models/cwm/modular_cwm.py.
#include "family/facts.h"
#include "family/parts/decoder.h"
#include "family/parts/llama_layer.h"

namespace memtape::family {

namespace {

ModelPointer build_cwm(const Config& c, const ModelOptions& options) {
  DecoderConfig config(c, options,
                       {.vocab_size = 128256,
                        .hidden_size = 6144,
                        .intermediate_size = 21504,
                        .num_hidden_layers = 64,
                        .num_attention_heads = 48,
                        .num_key_value_heads = 8,
                        .head_dim = c.has("head_dim") ? 0 : 128});
  if (c.is_null("rope_parameters")) config.rope.rope_type = RopeType::llama3;
  config.mlp_bias = c.boolean("mlp_bias", false);
  config.sliding_window = c.has("sliding_window") ? c.optional_dimension("sliding_window") : 8192;
  config.layer_types = read_layer_types(c, config.num_hidden_layers, [](std::int64_t layer) {
    return layer % 4 == 0 ? LayerType::full_attention : LayerType::sliding_attention;
  });
  if (!config.sliding_window)
    c.fail("sliding_window", "is null, but the model makes a sliding mask");
  config.masks_by_layer_type = config.masks_both_types = true;
  return build_checked<DecoderForCausalLM<LlamaParts>>(c, config, options);
}

}  // namespace

extern const FamilyFacts kCwm{.model_type = "cwm",
                              .first = {5, 0, 0},
                              .ties_head = Known::no,
                              .has_bos = Known::yes,
                              .modeling = kDecoder,
                              .build = build_cwm};

}  // namespace memtape::family
