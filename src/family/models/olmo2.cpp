// SPDX-License-Identifier: Apache-2.0
// OLMo 2 and 3: norms after attention and MLP instead of before, RMS norms over all of q and k,
// rotation in float32; OLMo 3 has sliding layers and a rope for each layer type. Mirroring
// transformers 5.17 models/olmo2/modular_olmo2.py and models/olmo3/modular_olmo3.py.
#include "family/models/olmo2.h"
#include "family/facts.h"
#include "family/parts/decoder.h"
#include "family/parts/post_norm_layer.h"
#include "release/transformers_4_changes.h"

namespace memtape::family {
namespace {

struct Olmo2Parts : DecoderParts {
  using DecoderLayer = PostNormDecoderLayer<Olmo2Attention, Olmo2RMSNorm>;
  using Norm = Olmo2RMSNorm;
};

struct Olmo3Config : DecoderConfig {
  Olmo3Config(const Config& c, const ModelOptions& options)
      : DecoderConfig(c, options, {.vocab_size = 50304}) {
    qkv_bias = o_bias = c.boolean("attention_bias", false);
    sliding_window = c.has("sliding_window") ? c.optional_dimension("sliding_window") : 4096;
    layer_types = read_layer_types(c, num_hidden_layers, [](std::int64_t layer) {
      return (layer + 1) % 4 != 0 ? LayerType::sliding_attention : LayerType::full_attention;
    });
    masks_by_layer_type = masks_both_types = true;
    check_sliding_window(c, *this);
    ropes = layer_ropes(c, head_dim, layer_types);
    for (LayerRopes::Of& of : ropes.types) of.rope.keeps_float32 = true;
  }
  LayerRopes ropes;
};

struct Olmo3Parts : Olmo2Parts {
  using Settings = Olmo3Config;
  using Rotary = LayerTypeRotaryEmbedding;
  static const LayerRopes& rope(const Olmo3Config& c) { return c.ropes; }
};

struct Olmo3OneRopeParts : Olmo2Parts {
  using Settings = Olmo3Config;
};

ModelPointer build_olmo3(const Config& c, const ModelOptions& options) {
  if (ghost::has(changes::kRopesByTypeInUse) && !ghost::has(changes::kOlmo3RopesByType)) {
    // Its one rotary embedding gives cos and sin in the model's dtype.
    return build_checked<DecoderForCausalLM<Olmo3OneRopeParts>>(c, Olmo3Config(c, options),
                                                                options);
  }
  return build_checked<DecoderForCausalLM<Olmo3Parts>>(c, Olmo3Config(c, options), options);
}

ModelPointer build_olmo2(const Config& c, const ModelOptions& options) {
  DecoderConfig config(c, options, {.vocab_size = 50304});
  config.qkv_bias = config.o_bias = c.boolean("attention_bias", false);
  config.rope.keeps_float32 = ghost::has(changes::kOlmoKeepsAnglesInFloat32);
  config.have_own_ropes(OwnRopes::asked);
  return build_checked<DecoderForCausalLM<Olmo2Parts>>(c, config, options);
}

}  // namespace

extern const FamilyFacts kOlmo3{.model_type = "olmo3",
                                .first = {4, 57, 0},
                                .ties_head = Known::no,
                                .has_bos = Known::no,
                                .modeling = kDecoder,
                                .classifiers = {.sequences = true},
                                .build = build_olmo3};

extern const FamilyFacts kOlmo2{.model_type = "olmo2",
                                .first = {4, 47, 0},
                                .ties_head = Known::no,
                                .has_bos = Known::no,
                                .tp_plan = TpPlan::gathers_attention,
                                .modeling = kDecoder,
                                .classifiers = {.sequences = true},
                                .build = build_olmo2};

}  // namespace memtape::family
