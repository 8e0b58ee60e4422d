// SPDX-License-Identifier: Apache-2.0
// OLMo: Llama with layer norms that have no parameters, rotation in float32, and q, k and v that
// may be clipped; mirroring transformers 5.17 models/olmo/modular_olmo.py.
#include "family/facts.h"
#include "family/parts/attention_steps.h"
#include "family/parts/decoder.h"
#include "family/parts/llama_layer.h"
#include "ghost/ops/normalization.h"
#include "release/transformers_4_changes.h"

namespace memtape::family {
namespace {

struct OlmoConfig : DecoderConfig {
  OlmoConfig(const Config& c, const ModelOptions& options)
      : DecoderConfig(c, options, {.vocab_size = 50304}),
        clips_qkv(c.optional_number("clip_qkv").has_value()) {
    qkv_bias = o_bias = c.boolean("attention_bias", false);
    rope.keeps_float32 = ghost::has(changes::kOlmoKeepsAnglesInFloat32);
    have_own_ropes(OwnRopes::asked);
  }
  bool clips_qkv;
};

class OlmoLayerNorm : public nn::Module<OlmoLayerNorm> {
 public:
  OlmoLayerNorm(const nn::Scope& scope, std::int64_t) : Module(scope) {}
  Tensor forward(const Tensor& x) {
    const DType orig_dtype = x.dtype();
    return ghost::layer_norm(x.to_float(), {}, {}).to(orig_dtype);
  }
};

struct OlmoParts : DecoderParts {
  using Settings = OlmoConfig;
  using DecoderLayer =
      PreNormDecoderLayer<AttentionOf<Clipped<Rotated<apply_rotary_pos_emb_in_float>>>, LlamaMLP,
                          OlmoLayerNorm>;
  using Norm = OlmoLayerNorm;
};

ModelPointer build_olmo(const Config& c, const ModelOptions& options) {
  return build_checked<DecoderForCausalLM<OlmoParts>>(c, OlmoConfig(c, options), options);
}

}  // namespace

extern const FamilyFacts kOlmo{.model_type = "olmo",
                               .ties_head = Known::no,
                               .has_bos = Known::no,
                               .tp_plan = TpPlan::dense,
                               .modeling = kDecoder,
                               .classifiers = {.sequences = true},
                               .build = build_olmo};

}  // namespace memtape::family
