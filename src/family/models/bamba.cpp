// SPDX-License-Identifier: Apache-2.0
// Bamba: layers of Mamba 2's mixer, some of attention with half of each head rotated, an MLP in
// each; mirroring transformers 5.17 models/bamba/modular_bamba.py.
#include <algorithm>
#include <optional>
#include <vector>

#include "family/facts.h"
#include "family/parts/attention_of.h"
#include "family/parts/hybrid_for_causal_lm.h"
#include "family/parts/llama_layer.h"
#include "family/parts/mamba2_mixer.h"
#include "ghost/ops/creation.h"
#include "release/hybrid_changes.h"
#include "release/transformers_5_changes.h"
#include "release/transformers_changes.h"

namespace memtape::family {
namespace {

struct BambaConfig : DecoderConfig {
  BambaConfig(const Config& c, const ModelOptions& options)
      : DecoderConfig(c, options,
                      {.vocab_size = 128000, .intermediate_size = 14336, .num_key_value_heads = 8}),
        attention_layers(c.integers("attn_layer_indices")),
        mixer(bamba_mixer_config(c, hidden_size, c.dimension("mamba_expand", 2) * hidden_size,
                                 hidden_act)) {
    rope = rope_parameters(c, head_dim, "partial_rotary_factor", 0.5);
    if (ghost::has(changes::kOriginalFrequenciesAreABuffer) &&
        !ghost::has(changes::kBambaRotatesHalf))
      rope.dim = head_dim;
    qkv_bias = o_bias = c.boolean("attention_bias", false);
    mlp_bias = c.boolean("mlp_bias", false);
    if (c.number("z_loss_coefficient", 0.0) > 0.0)
      c.fail("z_loss_coefficient", "a loss on the size of the logits is not modelled");
  }

  bool attends(std::int64_t layer) const {
    return std::ranges::find(attention_layers, layer) != attention_layers.end();
  }

  std::vector<std::int64_t> attention_layers;
  Mamba2MixerConfig mixer;
};

class BambaDecoderLayer : public nn::GradientCheckpointingLayer<BambaDecoderLayer> {
 public:
  BambaDecoderLayer(const nn::Scope& scope, const BambaConfig& c, nn::ListIndex layer)
      : GradientCheckpointingLayer(scope),
        feed_forward_(scope / "feed_forward", c),
        input_layernorm_(scope / "input_layernorm", c.hidden_size),
        pre_ff_layernorm_(scope / "pre_ff_layernorm", c.hidden_size) {
    if (c.attends(layer))
      self_attn_.emplace(scope / "self_attn", c, layer);
    else
      mamba.emplace(scope / "mamba", c.mixer);
  }

  Tensor forward(const Tensor& x, const Tensor& attention_mask, const CosSin& position_embeddings,
                 const Tensor&) {
    Tensor residual = x;
    Tensor hidden_states = input_layernorm_(x);
    hidden_states = mamba ? (*mamba)(hidden_states, attention_mask)
                          : (*self_attn_)(hidden_states, attention_mask, position_embeddings);
    hidden_states = residual.add(hidden_states);
    residual = hidden_states;
    hidden_states = pre_ff_layernorm_(hidden_states);
    hidden_states = feed_forward_(hidden_states);
    return residual.add(hidden_states);
  }

 private:
  LlamaMLP feed_forward_;
  LlamaRMSNorm input_layernorm_, pre_ff_layernorm_;
  std::optional<AttentionOf<Rotated<apply_rotary_pos_emb_to_part>>> self_attn_;

 public:
  std::optional<Mamba2Mixer> mamba;
};

struct BambaParts {
  using Settings = BambaConfig;
  using DecoderLayer = BambaDecoderLayer;
  static constexpr const char* kNorm = "final_layernorm";
  static constexpr Rotary kRotary = Rotary::after_norm;
  static constexpr const Change& kMasksSharedSince = changes::kBambaMasksAreShared;
  static Tensor position_ids(const Tensor& x) {
    return ghost::arange(x.size(1), DType::int64).unsqueeze(0);
  }
  static void init_weights(const BambaDecoderLayer& layer, const BambaConfig& c, DType dtype) {
    if (layer.mamba) init_decays(c.mixer, dtype);
  }
};

ModelPointer build_bamba(const Config& c, const ModelOptions& options) {
  return build_checked<HybridForCausalLM<BambaParts>>(c, BambaConfig(c, options), options);
}

}  // namespace

extern const FamilyFacts kBamba{.model_type = "bamba",
                                .first = {4, 48, 0},
                                .ties_head = Known::no,
                                .has_bos = Known::yes,
                                .modeling = with_scans(kDecoder),
                                .build = build_bamba};

}  // namespace memtape::family
