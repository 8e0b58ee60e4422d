// SPDX-License-Identifier: Apache-2.0
// MambaForCausalLM: an embedding, blocks of one mixer each, a norm and a head; mirroring
// transformers 5.17 models/mamba/modeling_mamba.py, which Mamba 2 and FalconMamba follow.
#pragma once

#include "family/losses/loss.h"
#include "family/losses/shifted_logits_loss.h"
#include "family/parts/forward_arguments.h"
#include "family/parts/llama_layer.h"
#include "nn/checkpointing.h"
#include "nn/layer_stack.h"

namespace memtape::family {

/// norm.weight.dtype. If FSDP casts parameters, it is FSDP's dtype.
inline DType weight_dtype(const nn::ModuleNode& norm) {
  return norm.parameters.front().tensor.dtype();
}

/// x + mixer(norm(x)). The residual may be held in float32.
template <class Mixer, class Settings, class Norm = LlamaRMSNorm>
class MambaBlock : public nn::GradientCheckpointingLayer<MambaBlock<Mixer, Settings, Norm>> {
 public:
  MambaBlock(const nn::Scope& scope, const Settings& c)
      : nn::GradientCheckpointingLayer<MambaBlock>(scope),
        residual_in_fp32_(c.residual_in_fp32),
        norm_(scope / "norm", c.hidden_size),
        mixer(scope / "mixer", c.mixer) {}

  Tensor forward(const Tensor& x, const Tensor& attention_mask) {
    Tensor residual = x;
    Tensor hidden_states = norm_(x.to(weight_dtype(norm_.node())));
    if (residual_in_fp32_) residual = residual.to_float();
    hidden_states = mixer(hidden_states, attention_mask);
    return residual.add(hidden_states);
  }

 private:
  bool residual_in_fp32_;
  Norm norm_;

 public:
  Mixer mixer;
};

template <class Mixer, class Settings, class Norm = LlamaRMSNorm>
class MambaForCausalLM : public PretrainedModel {
 public:
  MambaForCausalLM(const Settings& c, const ModelOptions& options)
      : PretrainedModel(options),
        config_(c),
        backbone_(root() / "backbone"),
        embeddings_(backbone_ / "embeddings", c.vocab_size, c.hidden_size),
        layers_(backbone_ / "layers", c.num_hidden_layers, c),
        norm_f_(backbone_ / "norm_f", c.hidden_size),
        lm_head_(init_weights() / "lm_head", c.hidden_size, c.vocab_size, false) {
    if (c.tie_word_embeddings) nn::tie(lm_head_, embeddings_.weight);
  }

  ModelOutput forward(const Batch& batch) override {
    const Tensor hidden_states = run_backbone(batch);
    Tensor logits =
        lm_head_(kept_for_logits(hidden_states, this->model_type).to(lm_head_.weight.dtype()))
            .to_float();
    Tensor loss = Settings::shifts_logits() ? shifted_logits_loss(logits, batch, config_.vocab_size)
                                            : causal_lm_loss(logits, batch, config_.vocab_size);
    return {std::move(loss), std::move(logits)};
  }

 private:
  /// _init_weights of the backbone, before the head is made.
  nn::Scope init_weights() {
    for (auto& block : layers_) block.mixer.init_weights();
    return root();
  }

  Tensor run_backbone(const Batch& batch) {
    const Tensor inputs_embeds = embeddings_(batch.input_ids);
    const Tensor attention_mask = Settings::mixer_mask(batch.attention_mask);
    const Tensor hidden_states = nn::run_layers(
        layers_, inputs_embeds, 1, [&](auto& mixer_block, std::size_t, const Tensor& x) {
          return mixer_block(x, attention_mask);
        });
    return norm_f_(hidden_states);
  }

  Settings config_;
  nn::Scope backbone_;
  nn::Embedding embeddings_;
  nn::ModuleList<MambaBlock<Mixer, Settings, Norm>> layers_;
  Norm norm_f_;
  nn::Linear lm_head_;
};

}  // namespace memtape::family
