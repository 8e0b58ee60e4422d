// SPDX-License-Identifier: Apache-2.0
// Gemma 2: Gemma with four norms a layer, softcapped attention and logits, and layers that slide in
// turn; VaultGemma: without the two norms after attention and MLP. Mirroring transformers 5.17
// models/gemma2/modular_gemma2.py and models/vaultgemma/modular_vaultgemma.py.
#include "family/gemma.h"
#include "family/more_families.h"

namespace memtape::family {
namespace {

class VaultGemmaDecoderLayer : public nn::GradientCheckpointingLayer<VaultGemmaDecoderLayer> {
 public:
  VaultGemmaDecoderLayer(const nn::Scope& scope, const DecoderConfig& c, std::int64_t)
      : GradientCheckpointingLayer(scope),
        self_attn_(scope / "self_attn", c),
        mlp_(scope / "mlp", c),
        input_layernorm_(scope / "input_layernorm", c.hidden_size),
        pre_feedforward_layernorm_(scope / "pre_feedforward_layernorm", c.hidden_size) {}

  Tensor forward(const Tensor& x, const Tensor& attention_mask, const CosSin& position_embeddings,
                 const Tensor&) {
    Tensor residual = x;
    Tensor hidden_states = input_layernorm_(x);
    hidden_states = self_attn_(hidden_states, attention_mask, position_embeddings);
    hidden_states = residual.add(hidden_states);

    residual = hidden_states;
    hidden_states = pre_feedforward_layernorm_(hidden_states);
    hidden_states = mlp_(hidden_states);
    return residual.add(hidden_states);
  }

 private:
  LlamaAttention self_attn_;
  LlamaMLP mlp_;
  GemmaRMSNorm input_layernorm_, pre_feedforward_layernorm_;
};

struct VaultGemmaParts : Gemma2Parts {
  using DecoderLayer = VaultGemmaDecoderLayer;
};

}  // namespace

ModelPointer build_gemma2(const Config& c, const ModelOptions& options) {
  const Gemma2Config config = gemma2_config(c, options);
  refuse_bidirectional_attention(c);
  return build_checked<DecoderForCausalLM<Gemma2Parts>>(c, config, options);
}

ModelPointer build_vaultgemma(const Config& c, const ModelOptions& options) {
  return build_checked<DecoderForCausalLM<VaultGemmaParts>>(c, gemma2_config(c, options), options);
}

}  // namespace memtape::family
