// SPDX-License-Identifier: Apache-2.0
// Gemma 2: Gemma with four norms a layer, softcapped attention and logits, and layers that slide in
// turn; VaultGemma: without the two norms after attention and MLP. Mirroring transformers 5.17
// models/gemma2/modular_gemma2.py and models/vaultgemma/modular_vaultgemma.py.
#include "family/facts.h"
#include "family/models/gemma.h"

namespace memtape::family {
namespace {

struct VaultGemmaDecoderLayer : PreNormDecoderLayer<LlamaAttention, LlamaMLP, GemmaRMSNorm> {
  VaultGemmaDecoderLayer(const nn::Scope& scope, const DecoderConfig& c, nn::ListIndex layer)
      : PreNormDecoderLayer(scope, c, layer, "pre_feedforward_layernorm") {}
};

struct VaultGemmaParts : Gemma2Parts {
  using DecoderLayer = VaultGemmaDecoderLayer;
};

ModelPointer build_gemma2(const Config& c, const ModelOptions& options) {
  const Gemma2Config config = gemma2_config(c, options);
  refuse_bidirectional_attention(c);
  return build_checked<DecoderForCausalLM<Gemma2Parts>>(c, config, options);
}

ModelPointer build_vaultgemma(const Config& c, const ModelOptions& options) {
  return build_checked<DecoderForCausalLM<VaultGemmaParts>>(c, gemma2_config(c, options), options);
}

}  // namespace

extern const FamilyFacts kGemma2{.model_type = "gemma2",
                                 .ties_head = Known::yes,
                                 .has_bos = Known::yes,
                                 .tp_plan = TpPlan::dense,
                                 .modeling = kDecoder,
                                 .classifiers = {.sequences = true, .tokens = true},
                                 .build = build_gemma2};

extern const FamilyFacts kVaultgemma{.model_type = "vaultgemma",
                                     .first = {4, 57, 0},
                                     .ties_head = Known::yes,
                                     .has_bos = Known::yes,
                                     .modeling = kDecoder,
                                     .build = build_vaultgemma};

}  // namespace memtape::family
