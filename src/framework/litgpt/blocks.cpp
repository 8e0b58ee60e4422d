// SPDX-License-Identifier: Apache-2.0
#include "framework/litgpt/blocks.h"

#include <array>

#include "ghost/ops/attention.h"
#include "ghost/ops/copies.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"
#include "ghost/ops/triangular.h"

namespace memtape::litgpt {
namespace {

Tensor apply_rope(const Tensor& x, const Rope& rope) {
  const std::int64_t half = x.size(-1) / 2;
  const Tensor x1 = x.slice(-1, 0, half), x2 = x.slice(-1, half, x.size(-1));
  const Tensor rotated = ghost::cat({x2.neg(), x1}, -1);
  const Tensor cos = rope.cos.unsqueeze(1), sin = rope.sin.unsqueeze(1);
  Tensor roped;
  {
    Tensor turned = x.mul(cos);
    roped = std::move(turned).add(rotated.mul(sin));
  }
  return roped.to(x.dtype());
}

/// The rotated part of the heads beside the rest.
Tensor with_rest(const Tensor& roped, const Tensor& x) {
  return ghost::cat({roped, x.slice(-1, roped.size(-1), x.size(-1))}, -1);
}

/// torch.ones(T, T).triu(diagonal=1), filled where it is true.
Tensor causal_mask(std::int64_t length, DType dtype) {
  Tensor mask = ghost::triu(ghost::ones({length, length}, dtype), 1);
  const Tensor above = mask.to(DType::boolean);
  ghost::masked_fill_(mask, above, ghost::kLowest);
  return mask;
}

/// The window's mask is filled row by row; the causal one before it goes.
Tensor sliding_window_mask(std::int64_t length, DType dtype) {
  const Tensor mask = causal_mask(length, dtype).view({1, 1, length, length});
  return ghost::full({length, length}, dtype).view({1, 1, length, length});
}

LinearSizes mlp_sizes(const GptConfig& c) { return {c.n_embd, c.intermediate_size, c.bias}; }

LinearSizes out_sizes(const GptConfig& c) { return {c.intermediate_size, c.n_embd, c.bias}; }

bool adapts_mlp(const Parts& parts) { return parts.adapters.lora && parts.adapters.lora->mlp; }

std::unique_ptr<Norm> qk_norm(const nn::Scope& scope, const GptConfig& c, std::int64_t whole) {
  if (c.norm_qk == QkNorm::none) return nullptr;
  return std::make_unique<Norm>(scope, c, c.norm_qk == QkNorm::whole ? whole : c.head_size);
}

}  // namespace

Norm::Norm(const nn::Scope& scope, const GptConfig& config, std::int64_t size)
    : Module(scope), adds_one_(config.norm_adds_one) {
  if (config.norm_class == NormClass::layer_norm)
    layer_norm_ = std::make_unique<nn::LayerNorm>(scope, size);
  else
    weight_ = scope.parameter("weight", {size});
}

Tensor Norm::forward(const Tensor& input) {
  if (layer_norm_) return layer_norm_->forward(input);
  const DType dtype = input.dtype();
  const Tensor x = input.to_float();
  const Tensor norm_x = x.mul(x).mean(-1, true);
  const Tensor x_normed = x.mul(ghost::rsqrt(norm_x.add(1e-6)));
  const Tensor weight = adds_one_ ? weight_.add(1.0) : weight_;
  return x_normed.mul(weight.to_float()).to(dtype);
}

OptionalNorm::OptionalNorm(const nn::Scope& scope, const GptConfig& config, bool present)
    : norm_(present ? std::make_unique<Norm>(scope, config, config.n_embd) : nullptr) {}

Mlp::Mlp(const nn::Scope& scope, const Parts& parts)
    : Module(scope),
      mlp_class_(parts.config.mlp_class),
      fc_1_(scope / (mlp_class_ == MlpClass::gpt_neox ? "fc" : "fc_1"), mlp_sizes(parts.config),
            parts.adapters, adapts_mlp(parts)),
      fc_2_(mlp_class_ == MlpClass::gpt_neox
                ? nullptr
                : std::make_unique<LoRALinear>(scope / "fc_2", mlp_sizes(parts.config),
                                               parts.adapters, adapts_mlp(parts))),
      proj_(scope / "proj", out_sizes(parts.config), parts.adapters, adapts_mlp(parts)) {}

Tensor Mlp::forward(const Tensor& input) {
  if (!fc_2_) {
    Tensor x = fc_1_(input);
    x = ghost::gelu(x);
    return proj_(x);
  }
  const Tensor x_fc_1 = fc_1_(input);
  const Tensor x_fc_2 = (*fc_2_)(input);
  const Tensor x =
      (mlp_class_ == MlpClass::llama ? ghost::silu(x_fc_1) : ghost::gelu(x_fc_1)).mul(x_fc_2);
  return proj_(x);
}

CausalSelfAttention::CausalSelfAttention(const nn::Scope& scope, const Parts& parts,
                                         std::int64_t block)
    : Module(scope),
      config_(parts.config),
      slides_(!config_.slides.empty() && config_.slides[static_cast<std::size_t>(block)]),
      qkv_(scope / "qkv",
           {config_.n_embd, config_.query_size(), config_.key_size(),
            config_.bias || config_.attn_bias},
           parts.adapters),
      proj_(scope / "proj", {config_.query_size(), config_.n_embd, config_.bias}, parts.adapters,
            parts.adapters.lora && parts.adapters.lora->projection),
      norm_q_(qk_norm(scope / "norm_q", config_, config_.query_size())),
      norm_k_(qk_norm(scope / "norm_k", config_, config_.key_size())) {
  if (parts.adapters.llama == LlamaAdapter::none || block < kAdapterStartLayer) return;
  adapter_wte_ =
      (scope / "adapter_wte").parameter("weight", {kAdapterPromptLength, config_.n_embd});
  gating_factor_ = scope.parameter("gating_factor", {1, 1, config_.n_head, 1});
}

Tensor CausalSelfAttention::forward(const Tensor& x, const Rope& rope) {
  const std::int64_t batch = x.size(0), length = x.size(1), head = config_.head_size;
  const Tensor qkv = qkv_(x);
  const std::array<std::int64_t, 3> sizes{config_.query_size(), config_.key_size(),
                                          config_.key_size()};
  std::vector<Tensor> parts = qkv.split(sizes, -1);
  Tensor q = std::move(parts[0]), k = std::move(parts[1]), v = std::move(parts[2]);
  if (config_.norm_qk == QkNorm::whole) {
    q = (*norm_q_)(q);
    k = (*norm_k_)(k);
  }
  q = q.view({batch, length, config_.n_head, head}).transpose(1, 2);
  k = k.view({batch, length, config_.n_query_groups, head}).transpose(1, 2);
  v = v.view({batch, length, config_.n_query_groups, head}).transpose(1, 2);
  if (config_.norm_qk == QkNorm::per_head) {
    q = (*norm_q_)(q);
    k = (*norm_k_)(k);
  }
  const Tensor q_roped = apply_rope(q.slice(-1, 0, config_.rope_n_elem), rope);
  const Tensor k_roped = apply_rope(k.slice(-1, 0, config_.rope_n_elem), rope);
  q = with_rest(q_roped, q);
  k = with_rest(k_roped, k);
  if (const std::int64_t q_per_kv = config_.n_head / config_.n_query_groups; q_per_kv > 1) {
    k = ghost::repeat_interleave(k, q_per_kv, 1);
    v = ghost::repeat_interleave(v, q_per_kv, 1);
  }
  Tensor y = attend(q, k, v, slides_ ? sliding_window_mask(length, q.dtype()) : Tensor());
  if (adapter_wte_.defined()) y = with_prompt(q, std::move(y));
  y = y.reshape({batch, length, head * config_.n_head});
  return proj_(y);
}

/// The first call is that of validate(), without gradients, and nothing ever empties the cache: so
/// the prompt's own table gets no gradient, and only its gate is trained.
void CausalSelfAttention::keep_prompt() {
  const std::int64_t groups = config_.n_query_groups, q_per_kv = config_.n_head / groups,
                     head = config_.head_size;
  const Tensor prefix = adapter_wte_.reshape({1, kAdapterPromptLength, config_.n_embd});
  const Tensor aqkv = qkv_(prefix)
                          .view({1, kAdapterPromptLength, groups, q_per_kv + 2, head})
                          .permute({0, 2, 3, 1, 4});
  const auto kept = [&](std::int64_t place) {
    Tensor part = aqkv.slice(2, place, place + 1);
    if (groups != 1) part = ghost::repeat_interleave(part, q_per_kv, 2);
    return part.view({1, -1, kAdapterPromptLength, head});
  };
  prompt_keys_ = kept(q_per_kv);
  prompt_values_ = kept(q_per_kv + 1);
}

Tensor CausalSelfAttention::with_prompt(const Tensor& q, Tensor y) {
  if (!prompt_keys_.defined()) keep_prompt();
  const Tensor amask = ghost::ones({q.size(2), kAdapterPromptLength}, DType::boolean);
  const Tensor ay = attend(q, prompt_keys_, prompt_values_, amask);
  return y.add(gating_factor_.mul(ay));
}

/// With softcapping SDPA cannot be used.
Tensor CausalSelfAttention::attend(const Tensor& q, const Tensor& k, const Tensor& v,
                                   Tensor mask) const {
  if (!config_.attention_softcaps)
    return ghost::scaled_dot_product_attention(q, k, v, mask, {.is_causal = !mask.defined()})
        .transpose(1, 2);
  Tensor scores = q.matmul(k.transpose(-2, -1)).mul(ghost::kScale);
  scores = do_softcapping(scores);
  if (!mask.defined()) mask = causal_mask(q.size(2), q.dtype());
  scores = scores.add(mask);
  scores = ghost::softmax(scores, DType::float32).to(q.dtype());
  return scores.matmul(v).transpose(1, 2);
}

Block::Block(const nn::Scope& scope, const Parts& parts, nn::ListIndex block)
    : GradientCheckpointingLayer(scope),
      config_(parts.config),
      norm_1_(scope / "norm_1", config_, config_.norm_1),
      attn_(scope / "attn", parts, block),
      post_attention_norm_(scope / "post_attention_norm", config_, config_.post_attention_norm),
      norm_2_(scope / "norm_2", config_, config_.norm_2 && !config_.shared_attention_norm),
      mlp_(scope / "mlp", parts),
      post_mlp_norm_(scope / "post_mlp_norm", config_, config_.post_mlp_norm) {}

Tensor Block::forward(const Tensor& input, const Rope& rope) {
  Tensor x_normed = norm_1_(input);
  Tensor attention_output = attn_(x_normed, rope);
  attention_output = post_attention_norm_(attention_output);
  Tensor x = input;
  if (config_.parallel_residual) {
    if (!config_.shared_attention_norm) x_normed = norm_2_(x);
    x = attention_output.add(x);
  } else {
    x = attention_output.add(x);
    x_normed = norm_2_(x);
  }
  return post_mlp_norm_(mlp_(x_normed)).add(x);
}

Tensor do_softcapping(const Tensor& x) { return ghost::tanh(x.div(50.0)).mul(50.0); }

}  // namespace memtape::litgpt
