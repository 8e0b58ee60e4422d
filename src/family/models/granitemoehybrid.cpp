// SPDX-License-Identifier: Apache-2.0
// Granite 4's hybrids: layers of Mamba 2's mixer or of attention, mostly without a rope, each with
// a shared MLP and, in most models, experts beside it; mirroring transformers 5.17
// models/granitemoehybrid/modular_granitemoehybrid.py.
#include <optional>

#include "family/facts.h"
#include "family/parts/attention_of.h"
#include "family/parts/granite_moe.h"
#include "family/parts/llama_layer.h"
#include "family/parts/mamba2_mixer.h"
#include "release/hybrid_changes.h"

namespace memtape::family {
namespace {

struct GraniteMoeHybridConfig : GraniteMoeConfig {
  GraniteMoeHybridConfig(const Config& c, const ModelOptions& options)
      : GraniteMoeConfig(c, options),
        attends(attention_layers(c)),
        rotates(c.optional_text("position_embedding_type") == "rope"),
        mixer(bamba_mixer_config(c, hidden_size, c.dimension("mamba_expand", 2) * hidden_size,
                                 hidden_act)) {}

  std::vector<bool> attends;  ///< by layer; the others have a mixer
  bool rotates;
  Mamba2MixerConfig mixer;

 private:
  std::vector<bool> attention_layers(const Config& c) const {
    std::vector<bool> layers;
    for (const std::string& name : c.texts("layer_types")) {
      layers.push_back(name == "attention" || name == "full_attention");
      if (!layers.back() && name != "mamba" && name != "linear_attention")
        c.fail("layer_types", "unknown type \"" + name + "\", use attention or mamba");
    }
    if (c.is_null("layer_types")) layers.assign(static_cast<std::size_t>(num_hidden_layers), false);
    if (layers.size() != static_cast<std::size_t>(num_hidden_layers))
      c.fail("layer_types", "must name " + std::to_string(num_hidden_layers) + " layers, names " +
                                std::to_string(layers.size()));
    layers.resize(static_cast<std::size_t>(num_hidden_layers));
    return layers;
  }
};

struct MaybeRope {
  MaybeRope(const nn::Scope&, const GraniteMoeHybridConfig&, std::int64_t) {}
  void operator()(Tensor& q, Tensor& k, const CosSin& cos_sin) const {
    if (cos_sin.first.defined()) std::tie(q, k) = apply_rotary_pos_emb(q, k, cos_sin);
  }
};

class GraniteMoeHybridDecoderLayer
    : public nn::GradientCheckpointingLayer<GraniteMoeHybridDecoderLayer> {
 public:
  GraniteMoeHybridDecoderLayer(const nn::Scope& scope, const GraniteMoeHybridConfig& c,
                               nn::ListIndex layer)
      : GradientCheckpointingLayer(scope),
        input_layernorm_(scope / "input_layernorm", c.hidden_size),
        post_attention_layernorm_(scope / "post_attention_layernorm", c.hidden_size) {
    if (c.has_experts) block_sparse_moe_.emplace(scope / "block_sparse_moe", c);
    shared_mlp_.emplace(scope / "shared_mlp", c);
    if (c.attends[static_cast<std::size_t>(layer)])
      self_attn_.emplace(scope / "self_attn", c, layer);
    else
      mamba_.emplace(scope / "mamba", c.mixer);
  }

  Tensor forward(const Tensor& x, const Tensor& attention_mask, const CosSin& position_embeddings) {
    Tensor residual = x;
    Tensor hidden_states = input_layernorm_(x);
    hidden_states = mamba_ ? (*mamba_)(hidden_states, attention_mask)
                           : (*self_attn_)(hidden_states, attention_mask, position_embeddings);
    hidden_states = residual.add(hidden_states.mul(kMultiplier));

    residual = hidden_states;
    hidden_states = post_attention_layernorm_(hidden_states);
    Tensor moe_hidden_states;
    if (block_sparse_moe_) {
      moe_hidden_states = (*block_sparse_moe_)(hidden_states);
      hidden_states = moe_hidden_states.add((*shared_mlp_)(hidden_states));
    } else {
      hidden_states = (*shared_mlp_)(hidden_states);
    }
    return residual.add(hidden_states.mul(kMultiplier));
  }

 private:
  LlamaRMSNorm input_layernorm_, post_attention_layernorm_;
  std::optional<GraniteMoe> block_sparse_moe_;
  std::optional<GraniteMoeSharedMLP> shared_mlp_;
  std::optional<AttentionOf<MaybeRope>> self_attn_;
  std::optional<Mamba2Mixer> mamba_;
};

class GraniteMoeHybridForCausalLM : public PretrainedModel {
 public:
  GraniteMoeHybridForCausalLM(const GraniteMoeHybridConfig& c, const ModelOptions& options)
      : PretrainedModel(options),
        config_(c),
        model_(root() / "model"),
        embed_tokens_(model_ / "embed_tokens", c.vocab_size, c.hidden_size),
        layers_(model_ / "layers", c.num_hidden_layers, c),
        norm_(model_ / "norm", c.hidden_size),
        lm_head_(finish_model() / "lm_head", c.hidden_size, c.vocab_size, false) {
    if (c.tie_word_embeddings) nn::tie(lm_head_, embed_tokens_.weight);
  }

  ModelOutput forward(const Batch& batch) override {
    RouterLogits collector(config_.output_router_logits);
    const Tensor hidden_states = run_model(batch);
    const std::vector<Tensor>& router_logits = collector.stop();
    Tensor logits = lm_head_(kept_for_logits(hidden_states, this->model_type));
    logits = logits.div(kMultiplier);
    Tensor loss = causal_lm_loss(logits, batch, config_.vocab_size, this->model_type);
    if (config_.output_router_logits) {
      const Tensor aux_loss = load_balancing_loss(
          router_logits, config_.num_experts, config_.num_experts_per_tok, batch.attention_mask);
      if (loss.defined()) ghost::add_(loss, aux_loss.mul(0.5));  // by router_aux_loss_coef
    }
    return {std::move(loss), std::move(logits)};
  }

 private:
  /// The rotary embedding, and _init_weights of the mixers, before the head is made.
  nn::Scope finish_model() {
    if (config_.rotates) rotary_emb_.emplace(model_ / "rotary_emb", config_.rope);
    for (const bool attends : config_.attends)
      if (!attends) init_decays(config_.mixer, tree.dtype());
    if (rotary_emb_) rotary_emb_->init_weights();
    return root();
  }

  Tensor run_model(const Batch& batch) {
    Tensor inputs_embeds = embed_tokens_(batch.input_ids);
    inputs_embeds = inputs_embeds.mul(kMultiplier);
    const Tensor position_ids = position_ids_for(inputs_embeds);
    const Tensor full_attention =
        create_causal_mask({.attention = config_.attention,
                            .attention_mask = batch.attention_mask,
                            .shared_since = changes::kGraniteHybridMasksAreShared},
                           inputs_embeds, {});
    const Tensor linear_attention =
        create_recurrent_attention_mask(batch.attention_mask, inputs_embeds.size(1));
    Tensor hidden_states = inputs_embeds;
    CosSin position_embeddings;
    if (rotary_emb_) position_embeddings = (*rotary_emb_)(hidden_states, position_ids);
    std::size_t layer = 0;
    for (GraniteMoeHybridDecoderLayer& decoder_layer : layers_)
      hidden_states =
          decoder_layer(hidden_states, config_.attends[layer++] ? full_attention : linear_attention,
                        position_embeddings);
    return norm_(hidden_states);
  }

  GraniteMoeHybridConfig config_;
  nn::Scope model_;
  nn::Embedding embed_tokens_;
  nn::ModuleList<GraniteMoeHybridDecoderLayer> layers_;
  LlamaRMSNorm norm_;
  std::optional<RotaryEmbedding> rotary_emb_;
  nn::Linear lm_head_;
};

ModelPointer build_granitemoehybrid(const Config& c, const ModelOptions& options) {
  return build_checked<GraniteMoeHybridForCausalLM>(c, GraniteMoeHybridConfig(c, options), options);
}

}  // namespace

extern const FamilyFacts kGranitemoehybrid{.model_type = "granitemoehybrid",
                                           .first = {4, 52, 0},
                                           .ties_head = Known::no,
                                           .has_bos = Known::yes,
                                           .modeling = with_scans(kDecoder),
                                           .build = build_granitemoehybrid};

}  // namespace memtape::family
