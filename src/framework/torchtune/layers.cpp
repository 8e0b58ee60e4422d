// SPDX-License-Identifier: Apache-2.0
#include "framework/torchtune/layers.h"

#include <utility>

#include "ghost/ops/attention.h"
#include "ghost/ops/copies.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/flex_attention.h"
#include "ghost/ops/indexing.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/matmul.h"
#include "ghost/ops/normalization.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/unary.h"

namespace memtape::torchtune {
namespace {

const Lora* lora_if(const Parts& parts, bool Lora::* adapted) {
  return parts.lora && parts.lora->*adapted ? parts.lora : nullptr;
}

/// 1 / base ** (arange(0, dim, 2).float() / dim)
Tensor frequencies(std::int64_t dim) {
  const Tensor steps = ghost::arange(dim / 2, DType::int64);
  return ghost::rdiv(1.0, ghost::pow(ghost::kBase, steps.to_float().div(2.0)));
}

}  // namespace

RMSNorm::RMSNorm(const nn::Scope& scope, std::int64_t dim, const Levers& levers)
    : Module(scope),
      is_functional_(levers.has(kNormIsFunctional)),
      scale_(scope.parameter("scale", {dim})) {}

Tensor RMSNorm::forward(const Tensor& x) {
  if (is_functional_) return ghost::rms_norm(x.to_float(), scale_).to(x.dtype());
  const Tensor x_fp32 = x.to_float();
  const Tensor x_normed =
      x_fp32.mul(ghost::rsqrt(x_fp32.pow(2).mean(-1, true).add(1e-5))).to(x.dtype());
  return x_normed.mul(scale_);
}

Linear::Adapter::Adapter(const nn::Scope& scope, const Sizes& sizes, const Lora& lora)
    : dropout(scope / "dropout", lora.dropout),
      lora_a(scope / "lora_a", sizes.in_dim, lora.rank, false),
      lora_b(scope / "lora_b", lora.rank, sizes.out_dim, false) {}

Linear::Linear(const nn::Scope& scope, const Sizes& sizes, const Lora* lora)
    : Module(scope),
      weight_(scope.parameter("weight", {sizes.out_dim, sizes.in_dim})),
      adapter_(lora ? std::make_unique<Adapter>(scope, sizes, *lora) : nullptr) {}

Tensor Linear::forward(const Tensor& x) {
  Tensor out = ghost::linear(x, weight_, {});
  if (!adapter_) return out;
  Tensor lora_out = adapter_->lora_a(adapter_->dropout(x));
  lora_out = adapter_->lora_b(lora_out).mul(ghost::kScale);
  return out.add(lora_out);
}

LinearWeights Linear::weights() const {
  if (!adapter_) return {.weight = weight_, .lora_a = {}, .lora_b = {}};
  return {weight_, adapter_->lora_a.weight, adapter_->lora_b.weight};
}

RotaryEmbeddings::RotaryEmbeddings(const nn::Scope& scope, const DecoderArgs& args)
    : theta_(frequencies(args.head_dim)) {
  const Tensor seq_idx = ghost::arange(args.max_seq_len, DType::float32);
  const Tensor idx_theta = seq_idx.unsqueeze(1).mul(theta_.unsqueeze(0));
  cache_ = ghost::stack_last({ghost::cos(idx_theta), ghost::sin(idx_theta)});
  scope.buffer("theta", theta_);
  scope.buffer("cache", cache_);
}

Tensor RotaryEmbeddings::operator()(const Tensor& x, const Tensor& input_pos) const {
  const std::int64_t batch = x.size(0), length = x.size(1), half = x.size(3) / 2;
  Tensor rope_cache =
      input_pos.defined() ? ghost::index(cache_, input_pos) : cache_.slice(0, 0, length);
  const Tensor xshaped = x.to_float().reshape({batch, length, x.size(2), half, 2});
  rope_cache = rope_cache.view({-1, length, 1, half, 2});
  Tensor x_out = ghost::stack_last({xshaped.select(-1, 0)
                                        .mul(rope_cache.select(-1, 0))
                                        .sub(xshaped.select(-1, 1).mul(rope_cache.select(-1, 1))),
                                    xshaped.select(-1, 1)
                                        .mul(rope_cache.select(-1, 0))
                                        .add(xshaped.select(-1, 0).mul(rope_cache.select(-1, 1)))});
  x_out = x_out.view(x.sizes());
  return x_out.to(x.dtype());
}

MultiHeadAttention::MultiHeadAttention(const nn::Scope& scope, const Parts& parts,
                                       const RotaryEmbeddings& rope)
    : Module(scope),
      args_(parts.args),
      is_packed_(parts.levers.is_packed),
      rope_(rope),
      q_proj_(scope / "q_proj", {args_.embed_dim, args_.num_heads * args_.head_dim},
              lora_if(parts, &Lora::query)),
      k_proj_(scope / "k_proj", {args_.embed_dim, args_.num_kv_heads * args_.head_dim},
              lora_if(parts, &Lora::key)),
      v_proj_(scope / "v_proj", {args_.embed_dim, args_.num_kv_heads * args_.head_dim},
              lora_if(parts, &Lora::value)),
      output_proj_(scope / "output_proj", {args_.num_heads * args_.head_dim, args_.embed_dim},
                   lora_if(parts, &Lora::output_proj)) {}

/// k.view(b, s, n_kv, 1, d).expand(...).reshape(b, s, -1, d)
Tensor MultiHeadAttention::heads_repeated(const Tensor& x) const {
  const std::int64_t b = x.size(0), s = x.size(1), d = args_.head_dim;
  const Tensor seen = x.view({b, s, args_.num_kv_heads, 1, d});
  if (args_.q_per_kv() == 1) return seen.reshape({b, s, args_.num_heads, d});
  return seen.expand({b, s, args_.num_kv_heads, args_.q_per_kv(), d})
      .reshape({b, s, args_.num_heads, d});
}

Tensor MultiHeadAttention::forward(const Tensor& x, const Tensor& input_pos) {
  const std::int64_t b = x.size(0), s = x.size(1);
  Tensor q = q_proj_(x);
  q = q.view({b, s, args_.num_heads, args_.head_dim});
  q = rope_(q, input_pos);
  q = q.transpose(1, 2);
  Tensor k = k_proj_(x);
  Tensor v = v_proj_(x);
  k = k.view({b, s, args_.num_kv_heads, args_.head_dim});
  k = rope_(k, input_pos);
  k = heads_repeated(k);
  v = heads_repeated(v);
  k = k.transpose(1, 2);
  v = v.transpose(1, 2);
  Tensor output = is_packed_
                      ? ghost::flex_attention(q, k, v)
                      : ghost::scaled_dot_product_attention(q, k, v, {}, {.is_causal = true});
  output = output.transpose(1, 2).contiguous().view({b, s, args_.num_heads * args_.head_dim});
  return output_proj_(output);
}

void MultiHeadAttention::list_weights(LayerWeights& into) const {
  into.q = q_proj_.weights();
  into.k = k_proj_.weights();
  into.v = v_proj_.weights();
  into.o = output_proj_.weights();
}

FeedForward::FeedForward(const nn::Scope& scope, const Parts& parts)
    : Module(scope),
      w1_(scope / "w1", {parts.args.embed_dim, parts.args.intermediate_dim},
          lora_if(parts, &Lora::mlp)),
      w2_(scope / "w2", {parts.args.intermediate_dim, parts.args.embed_dim},
          lora_if(parts, &Lora::mlp)),
      w3_(scope / "w3", {parts.args.embed_dim, parts.args.intermediate_dim},
          lora_if(parts, &Lora::mlp)) {}

Tensor FeedForward::forward(const Tensor& x) {
  Tensor h = ghost::silu(w1_(x));
  h = h.mul(w3_(x));
  h = w2_(h);
  return h;
}

void FeedForward::list_weights(LayerWeights& into) const {
  into.w1 = w1_.weights();
  into.w2 = w2_.weights();
  into.w3 = w3_.weights();
}

TransformerSelfAttentionLayer::TransformerSelfAttentionLayer(const nn::Scope& scope,
                                                             const Parts& parts,
                                                             const RotaryEmbeddings& rope)
    : Module(scope),
      parts_(parts),
      attn_(scope / "attn", parts, rope),
      mlp_(scope / "mlp", parts),
      sa_norm_(scope / "sa_norm", parts.args.embed_dim, parts.levers),
      mlp_norm_(scope / "mlp_norm", parts.args.embed_dim, parts.levers) {
  scope.node().is_layer = true;
}

LayerWeights TransformerSelfAttentionLayer::weights() const {
  LayerWeights all;
  attn_.list_weights(all);
  mlp_.list_weights(all);
  all.sa_scale = sa_norm_.scale();
  all.mlp_scale = mlp_norm_.scale();
  return all;
}

Tensor TransformerSelfAttentionLayer::forward(const Tensor& x, const Tensor& input_pos) {
  const Rows rows = parts_.levers.is_packed ? Rows::packed : Rows::of_one_text;
  if (parts_.levers.compiles) return compiled_layer(parts_.args, weights(), rows, x);
  Tensor h = sa_norm_(x);
  const Tensor attn_out = attn_(h, input_pos);
  h = attn_out.add(x);
  const Tensor mlp_out = mlp_(mlp_norm_(h));
  return h.add(mlp_out);
}

}  // namespace memtape::torchtune
