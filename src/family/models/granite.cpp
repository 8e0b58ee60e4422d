// SPDX-License-Identifier: Apache-2.0
// Granite: Llama with numbers that scale the embedding, each branch and the logits; its mixtures
// have experts in place of the MLP, and some a shared one beside them; HyperCLOVA X has norms
// behind each branch, too. Mirroring transformers 5.17 models/granite/modular_granite.py,
// models/granitemoe/modular_granitemoe.py, models/granitemoeshared/modular_granitemoeshared.py and
// models/hyperclovax/modular_hyperclovax.py.
#include <optional>

#include "family/facts.h"
#include "family/parts/decoder.h"
#include "family/parts/granite_layer.h"
#include "family/parts/granite_moe.h"
#include "family/parts/late_shared_mask.h"
#include "family/parts/llama_layer.h"

namespace memtape::family {
namespace {

struct GraniteConfig : DecoderConfig {
  GraniteConfig(const Config& c, const ModelOptions& options) : DecoderConfig(c, options, {}) {
    qkv_bias = o_bias = c.boolean("attention_bias", false);
    mlp_bias = c.boolean("mlp_bias", false);
  }
  bool use_post_norm = false;  ///< HyperCLOVA X's
};

struct GraniteParts : DecoderParts {
  using Settings = GraniteConfig;
  using DecoderLayer = GraniteDecoderLayer<LlamaAttention>;
  using Norm = LlamaRMSNorm;
  static void scale_embeddings(Tensor& inputs_embeds, const DecoderConfig&) {
    inputs_embeds = inputs_embeds.mul(kMultiplier);
  }
  static void cap_logits(Tensor& logits, const DecoderConfig&) { logits = logits.div(kMultiplier); }
};

class GraniteMoeDecoderLayer : public nn::GradientCheckpointingLayer<GraniteMoeDecoderLayer> {
 public:
  GraniteMoeDecoderLayer(const nn::Scope& scope, const GraniteMoeConfig& c)
      : GradientCheckpointingLayer(scope),
        self_attn_(scope / "self_attn", c),
        input_layernorm_(scope / "input_layernorm", c.hidden_size),
        post_attention_layernorm_(scope / "post_attention_layernorm", c.hidden_size),
        block_sparse_moe_(scope / "block_sparse_moe", c) {
    if (c.shared_intermediate_size > 0) shared_mlp_.emplace(scope / "shared_mlp", c);
  }

  Tensor forward(const Tensor& x, const Tensor& attention_mask, const CosSin& position_embeddings,
                 const Tensor&) {
    Tensor residual = x;
    Tensor hidden_states = input_layernorm_(x);
    hidden_states = self_attn_(hidden_states, attention_mask, position_embeddings);
    hidden_states = residual.add(hidden_states.mul(kMultiplier));

    residual = hidden_states;
    hidden_states = post_attention_layernorm_(hidden_states);
    if (shared_mlp_) {
      const Tensor moe_hidden_states = block_sparse_moe_(hidden_states);
      hidden_states = moe_hidden_states.add((*shared_mlp_)(hidden_states));
      return residual.add(hidden_states.mul(kMultiplier));
    }
    hidden_states = block_sparse_moe_(hidden_states);
    return residual.add(hidden_states.mul(kMultiplier));
  }

 private:
  LlamaAttention self_attn_;
  LlamaRMSNorm input_layernorm_, post_attention_layernorm_;
  GraniteMoe block_sparse_moe_;
  std::optional<GraniteMoeSharedMLP> shared_mlp_;
};

struct GraniteMoeParts : MoeParts {
  using Settings = GraniteMoeConfig;
  using DecoderLayer = GraniteMoeDecoderLayer;
  using Norm = LlamaRMSNorm;
  static LayerMasks make_masks(const DecoderConfig& c, const Tensor& attention_mask,
                               const Tensor& inputs_embeds, const Tensor& position_ids) {
    return late_shared_mask(c, attention_mask, inputs_embeds, position_ids);
  }
  /// Scaled once the masks are made.
  static Tensor enter_layers(Tensor& inputs_embeds, const GraniteMoeConfig&) {
    inputs_embeds = inputs_embeds.mul(kMultiplier);
    return inputs_embeds;
  }
  static void cap_logits(Tensor& logits, const GraniteMoeConfig& c) {
    GraniteParts::cap_logits(logits, c);
  }
};

ModelPointer build_granite(const Config& c, const ModelOptions& options) {
  return build_checked<DecoderForCausalLM<GraniteParts>>(c, GraniteConfig(c, options), options);
}

ModelPointer build_hyperclovax(const Config& c, const ModelOptions& options) {
  GraniteConfig config(c, options);
  config.use_post_norm = c.boolean("use_post_norm", true);
  return build_checked<DecoderForCausalLM<GraniteParts>>(c, config, options);
}

ModelPointer build_granitemoe(const Config& c, const ModelOptions& options) {
  return build_checked<MoeForCausalLM<GraniteMoeParts>>(c, GraniteMoeConfig(c, options), options);
}

}  // namespace

extern const FamilyFacts kGranite{.model_type = "granite",
                                  .ties_head = Known::no,
                                  .has_bos = Known::yes,
                                  .tp_plan = TpPlan::dense,
                                  .modeling = kDecoder,
                                  .build = build_granite};

extern const FamilyFacts kHyperclovax{.model_type = "hyperclovax",
                                      .first = {5, 9, 0},
                                      .ties_head = Known::no,
                                      .has_bos = Known::yes,
                                      .modeling = kDecoder,
                                      .build = build_hyperclovax};

extern const FamilyFacts kGranitemoe{.model_type = "granitemoe",
                                     .ties_head = Known::no,
                                     .has_bos = Known::yes,
                                     .modeling = kDecoder,
                                     .build = build_granitemoe};

extern const FamilyFacts kGranitemoeshared{.model_type = "granitemoeshared",
                                           .first = {4, 49, 0},
                                           .ties_head = Known::no,
                                           .has_bos = Known::yes,
                                           .modeling = kDecoder,
                                           .build = build_granitemoe};

}  // namespace memtape::family
