// SPDX-License-Identifier: Apache-2.0
// OLMoE: Llama with RMS norms over all of q and k, and experts; FlexOlmo: OLMo 2 with the same
// experts. Mirroring transformers 5.17 models/olmoe/modular_olmoe.py and
// models/flex_olmo/modular_flex_olmo.py.
#include "family/facts.h"
#include "family/models/olmo2.h"
#include "family/parts/attention_steps.h"
#include "family/parts/config_checks.h"
#include "family/parts/late_shared_mask.h"
#include "family/parts/llama_layer.h"
#include "family/parts/moe_decoder.h"
#include "family/parts/post_norm_layer.h"
#include "release/family_changes.h"

namespace memtape::family {
namespace {

struct OlmoeConfig : MoeConfig {
  OlmoeConfig(const Config& c, const ModelOptions& options)
      : MoeConfig(c, options,
                  {.vocab_size = 50304,
                   .hidden_size = 2048,
                   .intermediate_size = 2048,
                   .num_hidden_layers = 16,
                   .num_attention_heads = 16},
                  {.num_experts = 64,
                   .num_experts_per_tok = 8,
                   .intermediate_key = "intermediate_size",
                   .intermediate_size = 2048}),
        clips_qkv(c.optional_number("clip_qkv").has_value()) {
    qkv_bias = o_bias = c.boolean("attention_bias", false);
    loop = LoopBefore5::all;
  }
  bool clips_qkv;
};

class OlmoeSparseMoeBlock : public nn::Module<OlmoeSparseMoeBlock> {
 public:
  OlmoeSparseMoeBlock(const nn::Scope& scope, const MoeConfig& c)
      : Module(scope),
        gate_(scope / "gate", c, TopKRouter::Style::qwen2),
        experts_(scope / "experts", c) {}

  Tensor forward(const Tensor& x) {
    const Tensor hidden_states = x.view({-1, x.size(-1)});
    const Routing routing = gate_(hidden_states);
    return experts_(hidden_states, routing.indices, routing.weights).reshape(x.sizes());
  }

 private:
  TopKRouter gate_;
  Experts experts_;
};

struct OlmoeSteps : Clipped<WholeNorms<LlamaRMSNorm, apply_rotary_pos_emb>> {
  using Clipped::Clipped;
  static constexpr const Change& kInterfaceSince = changes::kOlderMixturesCallTheInterface;
};

struct OlmoeParts : MoeParts {
  using Settings = OlmoeConfig;
  using DecoderLayer = PreNormDecoderLayer<AttentionOf<OlmoeSteps>, OlmoeSparseMoeBlock>;
  using Norm = LlamaRMSNorm;
  static LayerMasks make_masks(const DecoderConfig& c, const Tensor& attention_mask,
                               const Tensor& inputs_embeds, const Tensor& position_ids) {
    return late_shared_mask(c, attention_mask, inputs_embeds, position_ids);
  }
};

struct FlexOlmoParts : MoeParts {
  using DecoderLayer = PostNormDecoderLayer<Olmo2Attention, Olmo2RMSNorm, OlmoeSparseMoeBlock>;
  using Norm = Olmo2RMSNorm;
};

ModelPointer build_olmoe(const Config& c, const ModelOptions& options) {
  const OlmoeConfig config(c, options);
  // OlmoeAttention's norms are as wide as heads of hidden_size / num_attention_heads.
  check_heads_fill(c, config.num_attention_heads, config.head_dim, config.hidden_size);
  return build_checked<MoeForCausalLM<OlmoeParts>>(c, config, options);
}

ModelPointer build_flex_olmo(const Config& c, const ModelOptions& options) {
  MoeConfig config(c, options, {.vocab_size = 100352},
                   {.num_experts = 7,
                    .num_experts_per_tok = 5,
                    .intermediate_key = "intermediate_size",
                    .intermediate_size = 11008});
  config.qkv_bias = config.o_bias = c.boolean("attention_bias", false);
  config.rope.keeps_float32 = true;
  config.loop = LoopBefore5::all;
  return build_checked<MoeForCausalLM<FlexOlmoParts>>(c, config, options);
}

}  // namespace

extern const FamilyFacts kOlmoe{.model_type = "olmoe",
                                .ties_head = Known::no,
                                .has_bos = Known::no,
                                .modeling = kDecoder,
                                .build = build_olmoe};

extern const FamilyFacts kFlexOlmo{.model_type = "flex_olmo",
                                   .first = {4, 57, 0},
                                   .ties_head = Known::no,
                                   .has_bos = Known::no,
                                   .modeling = kDecoder,
                                   .build = build_flex_olmo};

}  // namespace memtape::family
