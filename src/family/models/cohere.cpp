// SPDX-License-Identifier: Apache-2.0
// Cohere (Command R, Aya), whose logits are scaled; its second generation (Command A, R7B) has
// sliding layers, which alone rotate. Mirroring transformers 5.17 models/cohere/modular_cohere.py
// and models/cohere2/modular_cohere2.py.
#include "family/models/cohere.h"
#include "family/facts.h"
#include "release/head_changes.h"

namespace memtape::family {
namespace {

struct CohereConfig : DecoderConfig {
  CohereConfig(const Config& c, const ModelOptions& options)
      : DecoderConfig(c, options,
                      {.vocab_size = 256000,
                       .hidden_size = 8192,
                       .intermediate_size = 22528,
                       .num_hidden_layers = 40,
                       .num_attention_heads = 64,
                       .tie_word_embeddings = true}),
        use_qk_norm(!c.is_null("use_qk_norm") && c.boolean("use_qk_norm", false)) {
    qkv_bias = o_bias = c.boolean("attention_bias", false);
    rope.interleaved = true;
    have_own_ropes(OwnRopes::unread);
  }
  bool use_qk_norm;

  bool rotates(std::int64_t) const { return true; }
};

struct Cohere2Config : CohereConfig {
  Cohere2Config(const Config& c, const ModelOptions& options) : CohereConfig(c, options) {
    use_qk_norm = false;
    read_sliding_pattern(c, *this, c.dimension("sliding_window_pattern", 4), 4096);
  }

  bool rotates(std::int64_t layer) const {
    return layer_type(layer) == LayerType::sliding_attention;
  }
};

template <class Config>
struct CohereParts : DecoderParts {
  using Settings = Config;
  using DecoderLayer = CohereDecoderLayer<>;
  using Norm = CohereLayerNorm;
  static void cap_logits(Tensor& logits, const CohereConfig&) {
    if (!ghost::has(changes::kCohereScalesFirst)) logits = logits.to_float();
    logits = logits.mul(0.0625);
  }
};

struct Cohere2Parts : CohereParts<Cohere2Config> {
  static LayerMasks make_masks(const DecoderConfig& c, const Tensor& attention_mask,
                               const Tensor& inputs_embeds, const Tensor& position_ids) {
    return gemma2_masks(c, attention_mask, inputs_embeds, position_ids);
  }
};

ModelPointer build_cohere(const Config& c, const ModelOptions& options) {
  return build_checked<DecoderForCausalLM<CohereParts<CohereConfig>>>(c, CohereConfig(c, options),
                                                                      options);
}

ModelPointer build_cohere2(const Config& c, const ModelOptions& options) {
  return build_checked<DecoderForCausalLM<Cohere2Parts>>(c, Cohere2Config(c, options), options);
}

}  // namespace

extern const FamilyFacts kCohere{.model_type = "cohere",
                                 .ties_head = Known::yes,
                                 .has_bos = Known::yes,
                                 .tp_plan = TpPlan::dense,
                                 .modeling = kDecoder,
                                 .build = build_cohere};

extern const FamilyFacts kCohere2{.model_type = "cohere2",
                                  .first = {4, 48, 0},
                                  .ties_head = Known::yes,
                                  .has_bos = Known::yes,
                                  .modeling = kDecoder,
                                  .build = build_cohere2};

}  // namespace memtape::family
