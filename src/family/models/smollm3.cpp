// SPDX-License-Identifier: Apache-2.0
// SmolLM3: Llama in which every fourth layer does not rotate q and k; mirroring transformers 5.17
// models/smollm3/modular_smollm3.py.
#include <tuple>

#include "family/facts.h"
#include "family/parts/decoder.h"
#include "family/parts/llama_layer.h"

namespace memtape::family {
namespace {

struct SmolLM3Config : DecoderConfig {
  SmolLM3Config(const Config& c, const ModelOptions& options)
      : DecoderConfig(c, options,
                      {.vocab_size = 128256,
                       .hidden_size = 2048,
                       .num_hidden_layers = 36,
                       .num_attention_heads = 16,
                       .num_key_value_heads = 4,
                       .tie_word_embeddings = true}),
        no_rope_layers(read_no_rope_layers(c)) {
    qkv_bias = o_bias = c.boolean("attention_bias", false);
    mlp_bias = c.boolean("mlp_bias", false);
    sliding_window = c.optional_dimension("sliding_window");
    const bool slides = c.boolean("use_sliding_window", false) && sliding_window;
    layer_types = read_layer_types(c, num_hidden_layers,
                                   [](std::int64_t) { return LayerType::full_attention; });
    if (slides && c.is_null("layer_types"))
      for (std::size_t i = 0; i < layer_types.size(); ++i)
        if (no_rope_layers[i] == 0) layer_types[i] = LayerType::sliding_attention;
    check_sliding_window(c, *this);
    masks_by_layer_type = true;
  }

  /// 1 where a layer rotates, 0 where it does not.
  std::vector<std::int64_t> read_no_rope_layers(const Config& c) const {
    std::vector<std::int64_t> layers = c.integers("no_rope_layers");
    const auto wanted = static_cast<std::size_t>(num_hidden_layers);
    const std::int64_t interval = c.dimension("no_rope_layer_interval", 4);
    if (c.is_null("no_rope_layers"))
      for (std::int64_t i = 0; i < num_hidden_layers; ++i)
        layers.push_back((i + 1) % interval != 0 ? 1 : 0);
    if (layers.size() < wanted)
      c.fail("no_rope_layers", "must name " + std::to_string(wanted) + " layers");
    layers.resize(wanted);
    return layers;
  }

  std::vector<std::int64_t> no_rope_layers;
};

struct SmolLM3Steps {
  SmolLM3Steps(const nn::Scope&, const SmolLM3Config& c, std::int64_t layer)
      : rotates(c.no_rope_layers[static_cast<std::size_t>(layer)] != 0) {}
  void operator()(Tensor& q, Tensor& k, const CosSin& cos_sin) const {
    if (rotates) std::tie(q, k) = apply_rotary_pos_emb(q, k, cos_sin);
  }
  bool rotates;
};

struct SmolLM3Parts : DecoderParts {
  using Settings = SmolLM3Config;
  using DecoderLayer = PreNormDecoderLayer<AttentionOf<SmolLM3Steps>>;
  using Norm = LlamaRMSNorm;
  static int layer_kind(const SmolLM3Config& c, std::size_t layer) {
    return DecoderParts::layer_kind(c, layer) * 2 + (c.no_rope_layers[layer] != 0 ? 1 : 0);
  }
};

ModelPointer build_smollm3(const Config& c, const ModelOptions& options) {
  return build_checked<DecoderForCausalLM<SmolLM3Parts>>(c, SmolLM3Config(c, options), options);
}

}  // namespace

extern const FamilyFacts kSmollm3{
    .model_type = "smollm3",
    .first = {4, 53, 0},
    .ties_head = Known::yes,
    .has_bos = Known::yes,
    .tp_plan = TpPlan::dense,
    .modeling = kDecoder,
    .classifiers = {.sequences = true, .tokens = true, .answers = true},
    .build = build_smollm3};

}  // namespace memtape::family
