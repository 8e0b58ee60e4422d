// SPDX-License-Identifier: Apache-2.0
// The parts of litgpt's GPT (0.5.13, model.py): norms, MLPs, attention, and the block that they
// form, with residual branches one after the other or side by side. Each linear layer may carry an
// adapter. In litgpt.adapter and adapter_v2 the attention of a layer also looks at a prompt of its
// own.
#pragma once

#include <memory>
#include <variant>

#include "framework/litgpt/architectures.h"
#include "framework/litgpt/lora_linear.h"
#include "nn/checkpointing.h"

namespace memtape::litgpt {

/// What every part is built from.
struct Parts {
  const GptConfig& config;
  Adapters adapters;
};

/// The tables of the rotation, [1, T, rope_n_elem].
struct Rope {
  Tensor cos, sin;
};

/// config.norm_class: torch's LayerNorm, or litgpt's RMSNorm, which computes in float32.
class Norm : public nn::Module<Norm> {
 public:
  Norm(const nn::Scope& scope, const GptConfig& config, std::int64_t size);
  Tensor forward(const Tensor& x);

 private:
  bool adds_one_;
  std::unique_ptr<nn::LayerNorm> layer_norm_;
  Tensor weight_;
};

/// A norm, or nn.Identity if the model has none.
class OptionalNorm {
 public:
  OptionalNorm(const nn::Scope& scope, const GptConfig& config, bool present);
  Tensor operator()(Tensor x) { return norm_ ? (*norm_)(std::move(x)) : x; }

 private:
  std::unique_ptr<Norm> norm_;
};

/// GptNeoxMLP, LLaMAMLP and GemmaMLP.
class Mlp : public nn::Module<Mlp> {
 public:
  Mlp(const nn::Scope& scope, const Parts& parts);
  Tensor forward(const Tensor& x);

 private:
  MlpClass mlp_class_;
  LoRALinear fc_1_;
  std::unique_ptr<LoRALinear> fc_2_;
  LoRALinear proj_;
};

class CausalSelfAttention : public nn::Module<CausalSelfAttention> {
 public:
  CausalSelfAttention(const nn::Scope& scope, const Parts& parts, std::int64_t block);
  Tensor forward(const Tensor& x, const Rope& rope);

 private:
  Tensor attend(const Tensor& q, const Tensor& k, const Tensor& v, Tensor mask) const;
  Tensor with_prompt(const Tensor& q, Tensor y);
  void keep_prompt();

  const GptConfig& config_;
  bool slides_;
  LoRAQKVLinear qkv_;
  LoRALinear proj_;
  std::unique_ptr<Norm> norm_q_, norm_k_;
  Tensor adapter_wte_, gating_factor_;  ///< undefined if the layer has no prompt
  Tensor prompt_keys_, prompt_values_;  ///< adapter_kv_cache
};

class Block : public nn::GradientCheckpointingLayer<Block> {
 public:
  Block(const nn::Scope& scope, const Parts& parts, nn::ListIndex block);
  Tensor forward(const Tensor& x, const Rope& rope);

 private:
  const GptConfig& config_;
  OptionalNorm norm_1_;
  CausalSelfAttention attn_;
  OptionalNorm post_attention_norm_, norm_2_;
  Mlp mlp_;
  OptionalNorm post_mlp_norm_;
};

/// torch.tanh(x / threshold) * threshold
Tensor do_softcapping(const Tensor& x);

}  // namespace memtape::litgpt
