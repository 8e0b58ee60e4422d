// SPDX-License-Identifier: Apache-2.0
// MoeForCausalLM: MixtralForCausalLM of transformers 5.17 models/mixtral/modeling_mixtral.py, which
// the other families with experts inherit. It has the head of DecoderForCausalLM, and a load
// balancing loss if the router logits are wanted.
#pragma once

#include "family/parts/decoder.h"
#include "family/parts/experts.h"
#include "family/parts/forward_arguments.h"
#include "family/parts/routed_model.h"
#include "ghost/ops/pointwise.h"

namespace memtape::family {

/// load_balancing_loss_func. Without an attention mask every token counts.
Tensor load_balancing_loss(const std::vector<Tensor>& gate_logits, std::int64_t num_experts,
                           std::int64_t top_k, const Tensor& attention_mask);

struct MoeParts : DecoderParts {
  using Settings = MoeConfig;
};

template <class Parts, class Model = DecoderModel<Parts>>
class MoeForCausalLM : public PretrainedModel, public RoutedModel {
 public:
  using Settings = typename Parts::Settings;

  MoeForCausalLM(const Settings& config, const ModelOptions& options)
      : PretrainedModel(options),
        config_(config),
        model_(root() / "model", config),
        lm_head_(root() / "lm_head", config.hidden_size, config.vocab_size, config.head_bias) {
    if (config.tie_word_embeddings) nn::tie(lm_head_, model_.embed_tokens.weight);
  }

  Tensor last_hidden_state(const Batch& batch) override {
    return model_(batch.input_ids, batch.attention_mask);
  }
  nn::Projection* head() override { return &lm_head_; }
  Tensor balancing_loss(const std::vector<Tensor>& router_logits,
                        const Tensor& attention_mask) const override {
    return load_balancing_loss(router_logits, config_.num_experts, config_.num_experts_per_tok,
                               attention_mask);
  }

  StageParts* stage_parts() override { return &stages_; }
  ModelOutput forward(const Batch& batch) override {
    RouterLogits collector(config_.output_router_logits);
    const Tensor hidden_states = last_hidden_state(batch);
    const std::vector<Tensor>& router_logits = collector.stop();
    Tensor logits = lm_head_(kept_for_logits(hidden_states, this->model_type));
    Parts::cap_logits(logits, config_);
    Tensor loss = causal_lm_loss(logits, batch, config_.vocab_size, this->model_type);
    Tensor aux_loss;
    if (config_.output_router_logits) {
      aux_loss = balancing_loss(router_logits, batch.attention_mask);
      if (loss.defined()) ghost::add_(loss, aux_loss.mul(0.5));  // by router_aux_loss_coef
    }
    return {std::move(loss), std::move(logits)};
  }
  std::vector<std::int64_t> sliding_windows() const override {
    return family::sliding_windows(config_);
  }

 private:
  Settings config_;
  Model model_;
  nn::Linear lm_head_;
  DecoderStages<Parts, Model> stages_{model_, lm_head_, config_};
};

/// The language model, or the decoder with a classifier's head, which has no load balancing loss.
template <class Parts>
ModelPointer build_moe(const Config& c, const typename Parts::Settings& config,
                       const ModelOptions& options) {
  if (!is_classification(options.task))
    return build_checked<MoeForCausalLM<Parts>>(c, config, options);
  if (config.output_router_logits)
    c.fail("output_router_logits", "is not modelled under a classifier's head: use false");
  return build_checked<DecoderForCausalLM<Parts>>(c, config, options);
}

}  // namespace memtape::family
