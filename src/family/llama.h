// SPDX-License-Identifier: Apache-2.0
// Llama, mirroring transformers 5.17 models/llama/modeling_llama.py and configuration_llama.py.
#pragma once

#include "family/attention_interface.h"
#include "family/pretrained.h"
#include "family/rope.h"
#include "nn/activations.h"
#include "nn/checkpointing.h"
#include "nn/layers.h"

namespace memtape::family {

struct LlamaConfig {
  LlamaConfig(const Config& c, const ModelOptions& options);

  std::int64_t vocab_size, hidden_size, intermediate_size, num_hidden_layers, num_attention_heads, num_key_value_heads, head_dim;
  nn::Activation hidden_act;
  bool tie_word_embeddings, attention_bias, mlp_bias;
  double attention_dropout;
  RopeParameters rope;
  AttentionImplementation attention;
};

class LlamaRMSNorm : public nn::Module<LlamaRMSNorm> {
 public:
  LlamaRMSNorm(const nn::Scope& scope, std::int64_t hidden_size);
  Tensor forward(const Tensor& hidden_states);

 private:
  Tensor weight_;
};

class LlamaMLP : public nn::Module<LlamaMLP> {
 public:
  LlamaMLP(const nn::Scope& scope, const LlamaConfig& config);
  Tensor forward(const Tensor& x);

 private:
  nn::Linear gate_proj_, up_proj_, down_proj_;
  nn::Activation act_fn_;
};

class LlamaAttention : public nn::Module<LlamaAttention> {
 public:
  LlamaAttention(const nn::Scope& scope, const LlamaConfig& config);
  Tensor forward(const Tensor& hidden_states, const Tensor& attention_mask, const CosSin& position_embeddings);

 private:
  AttentionCall call_;
  std::int64_t head_dim_;
  nn::Linear q_proj_, k_proj_, v_proj_, o_proj_;
};

class LlamaDecoderLayer : public nn::GradientCheckpointingLayer<LlamaDecoderLayer> {
 public:
  LlamaDecoderLayer(const nn::Scope& scope, const LlamaConfig& config);
  Tensor forward(const Tensor& hidden_states, const Tensor& attention_mask, const CosSin& position_embeddings,
                 const Tensor& position_ids);

 private:
  LlamaAttention self_attn_;
  LlamaMLP mlp_;
  LlamaRMSNorm input_layernorm_, post_attention_layernorm_;
};

class LlamaModel : public nn::Module<LlamaModel> {
 public:
  LlamaModel(const nn::Scope& scope, const LlamaConfig& config);
  Tensor forward(const Tensor& input_ids, const Tensor& attention_mask);

  nn::Embedding embed_tokens;

 private:
  LlamaConfig config_;
  nn::ModuleList<LlamaDecoderLayer> layers_;
  LlamaRMSNorm norm_;
  RotaryEmbedding rotary_emb_;
};

class LlamaForCausalLM : public PretrainedModel {
 public:
  LlamaForCausalLM(const LlamaConfig& config, const ModelOptions& options);
  ModelOutput forward(const Batch& batch) override;

 private:
  LlamaConfig config_;
  LlamaModel model_;
  nn::Linear lm_head_;
};

}  // namespace memtape::family
