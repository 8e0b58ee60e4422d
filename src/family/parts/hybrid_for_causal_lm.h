// SPDX-License-Identifier: Apache-2.0
// HybridModel and HybridForCausalLM: Jamba, Bamba and LFM2 of transformers 5.17
// (models/jamba/modeling_jamba.py, models/bamba/modeling_bamba.py, models/lfm2/modeling_lfm2.py):
// layers of a mixer or of attention, each with the mask of its kind. A family names its parts:
//
//   struct JambaParts {
//     using Settings = JambaConfig;             // a DecoderConfig; attends(layer)
//     using DecoderLayer = JambaDecoderLayer;   // forward(x, mask, cos_sin, ids)
//     static Tensor position_ids(inputs_embeds);   // as its model makes them
//     static constexpr const char* kNorm = "final_layernorm";   // the model's last
//     static constexpr Rotary kRotary = Rotary::none;   // where the model makes its embedding
//     static void init_weights(layer, settings, dtype);   // _init_weights of the layer's mixer
//   };
//
// It may have kMasksSharedSince, a change before which its model had an _update_causal_mask,
// register_buffers(layers, settings, dtype), which runs before post_init,
// scale_embeddings(inputs_embeds) and scale_logits(logits), and kBalancesLoad, if its settings are
// a MoeConfig whose output_router_logits adds a loss of balance.
#pragma once

#include <optional>
#include <string_view>

#include "family/parts/classifiers.h"
#include "family/parts/decoder.h"
#include "family/parts/llama_layer.h"
#include "family/parts/mamba2_mixer.h"
#include "family/parts/moe_decoder.h"

namespace memtape::family {

enum class Rotary { none, before_norm, after_norm };

template <class Parts>
class HybridModel : public nn::Module<HybridModel<Parts>> {
 public:
  using Settings = typename Parts::Settings;
  using DecoderLayer = typename Parts::DecoderLayer;

  HybridModel(const nn::Scope& scope, const Settings& c)
      : nn::Module<HybridModel>(scope),
        embed_tokens(scope / "embed_tokens", c.vocab_size, c.hidden_size),
        config_(c),
        layers_(scope / "layers", c.num_hidden_layers, c),
        norm_(finish_layers(scope) / Parts::kNorm, c.hidden_size) {
    finish(scope);
  }

  Tensor forward(const Tensor& input_ids, const Tensor& given_mask) {
    Tensor inputs_embeds = embed_tokens(input_ids);
    if constexpr (requires { Parts::scale_embeddings(inputs_embeds); })
      Parts::scale_embeddings(inputs_embeds);
    const auto [position_ids, full_attention, linear_attention] =
        hybrid_inputs({.attention = config_.attention,
                       .attention_mask = given_mask,
                       .shared_since = masks_shared_since()},
                      inputs_embeds, Parts::position_ids(inputs_embeds));
    Tensor hidden_states = inputs_embeds;
    CosSin position_embeddings;
    if (rotary_emb_) position_embeddings = (*rotary_emb_)(hidden_states, position_ids);
    std::int64_t layer = 0;
    for (DecoderLayer& decoder_layer : layers_)
      hidden_states =
          decoder_layer(hidden_states, config_.attends(layer++) ? full_attention : linear_attention,
                        position_embeddings, position_ids);
    return norm_(hidden_states);
  }

  nn::Embedding embed_tokens;

 private:
  static constexpr const Change& masks_shared_since() {
    if constexpr (requires { Parts::kMasksSharedSince; })
      return Parts::kMasksSharedSince;
    else
      return changes::kMasksAreShared;
  }

  nn::Scope finish_layers(const nn::Scope& scope) {
    if (Parts::kRotary == Rotary::before_norm)
      rotary_emb_.emplace(scope / "rotary_emb", config_.rope);
    if constexpr (requires { Parts::kOneRopeSince; })
      if (!ghost::has(Parts::kOneRopeSince)) second_rope_.emplace(scope / "pos_emb", config_.rope);
    return scope;
  }

  /// Runs what post_init computes again.
  void finish(const nn::Scope& scope) {
    if (Parts::kRotary == Rotary::after_norm)
      rotary_emb_.emplace(scope / "rotary_emb", config_.rope);
    if constexpr (requires { Parts::register_buffers(layers_, config_, scope.dtype()); })
      Parts::register_buffers(layers_, config_, scope.dtype());
    for (DecoderLayer& layer : layers_) Parts::init_weights(layer, config_, scope.dtype());
    if (rotary_emb_) rotary_emb_->init_weights();
  }

  Settings config_;
  nn::ModuleList<DecoderLayer> layers_;
  std::optional<RotaryEmbedding> rotary_emb_, second_rope_;
  LlamaRMSNorm norm_;
};

template <class Parts>
class HybridForCausalLM : public PretrainedModel {
 public:
  using Settings = typename Parts::Settings;

  HybridForCausalLM(const Settings& c, const ModelOptions& options)
      : PretrainedModel(options),
        config_(c),
        model_(root() / "model", c),
        task_(options.task),
        classifier_(GenericClassifier::made(root(), options)),
        lm_head_(root() / output_embeddings(), c.hidden_size,
                 classifier_ ? classifier_->width() : c.vocab_size,
                 classifier_ && classifier_->has_bias()) {
    if (c.tie_word_embeddings && !classifier_) nn::tie(lm_head_, model_.embed_tokens.weight);
  }

  std::string_view output_embeddings() const final {
    return classifier_ ? classifier_->name() : "lm_head";
  }
  SampleSizes sample_sizes(std::int64_t sequence_length) const override {
    return classifier_ ? classifier_sample(task_, sequence_length)
                       : PretrainedModel::sample_sizes(sequence_length);
  }

  Tensor last_hidden_state(const Batch& batch) override {
    return model_(batch.input_ids, batch.attention_mask);
  }
  /// Null where the logits are more than its product, or a loss of balance is added.
  nn::Projection* head() override { return kScalesLogits || balances_load() ? nullptr : &lm_head_; }

  ModelOutput forward(const Batch& batch) override {
    RouterLogits collector(balances_load());
    const Tensor hidden_states = last_hidden_state(batch);
    if (classifier_) return (*classifier_)(hidden_states, lm_head_, batch);
    const std::vector<Tensor>& router_logits = collector.stop();
    Tensor logits = lm_head_(kept_for_logits(hidden_states, this->model_type));
    if constexpr (requires { Parts::scale_logits(logits); }) Parts::scale_logits(logits);
    Tensor loss = causal_lm_loss(logits, batch, config_.vocab_size, this->model_type);
    Tensor aux_loss;
    if constexpr (kHasBalance)
      if (balances_load()) {
        aux_loss = load_balancing_loss(router_logits, config_.num_experts,
                                       config_.num_experts_per_tok, batch.attention_mask);
        if (loss.defined()) ghost::add_(loss, aux_loss.mul(0.5));  // by router_aux_loss_coef
      }
    return {std::move(loss), std::move(logits)};
  }

 private:
  static constexpr bool kHasBalance = requires { Parts::kBalancesLoad; };
  static constexpr bool kScalesLogits = requires(Tensor logits) { Parts::scale_logits(logits); };

  bool balances_load() const {
    if constexpr (kHasBalance) return config_.output_router_logits;
    return false;
  }

  Settings config_;
  HybridModel<Parts> model_;
  Task task_;
  std::optional<GenericClassifier> classifier_;
  nn::Linear lm_head_;
};

}  // namespace memtape::family
