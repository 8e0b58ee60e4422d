// SPDX-License-Identifier: Apache-2.0
// Ministral: Qwen2 without biases, whose layers slide or not by type; mirroring transformers 5.17
// models/ministral/modular_ministral.py.
#include "family/facts.h"
#include "family/parts/decoder.h"
#include "family/parts/llama_layer.h"

namespace memtape::family {

namespace {

ModelPointer build_ministral(const Config& c, const ModelOptions& options) {
  DecoderConfig config(c, options, {.intermediate_size = 14336, .num_key_value_heads = 8});
  config.sliding_window = c.has("sliding_window") ? c.optional_dimension("sliding_window") : 4096;
  config.layer_types = read_layer_types(
      c, config.num_hidden_layers,
      config.sliding_window ? [](std::int64_t) { return LayerType::sliding_attention; }
                            : [](std::int64_t) { return LayerType::full_attention; });
  if (!config.sliding_window)
    c.fail("sliding_window", "is null, but the model makes a sliding mask");
  if (c.is_null("head_dim")) c.fail("head_dim", "must be given: the class has no default");
  config.masks_by_layer_type = config.masks_both_types = true;
  return build_checked<DecoderForCausalLM<LlamaParts>>(c, config, options);
}

}  // namespace

extern const FamilyFacts kMinistral{
    .model_type = "ministral",
    .first = {4, 57, 0},
    .ties_head = Known::no,
    .has_bos = Known::yes,
    .modeling = kDecoder,
    .classifiers = {.sequences = true, .tokens = true, .answers = true},
    .build = build_ministral};

}  // namespace memtape::family
