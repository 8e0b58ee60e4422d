// SPDX-License-Identifier: Apache-2.0
#include "framework/megatron/attention.h"

#include <array>

#include "framework/megatron/activations.h"
#include "framework/megatron/checkpoint_without_output.h"
#include "ghost/ops/copies.h"
#include "ghost/ops/joins.h"

namespace memtape::megatron {

Attention::Attention(const nn::Scope& scope, Rank& rank, bool crosses)
    : rank_(rank), scope_(scope.node().scope) {
  const Arguments& a = rank.a;
  const std::int64_t heads = a.num_attention_heads, h = a.hidden_size;
  if (a.learns_sinks)
    sinks_ = (scope / "core_attention").parameter("softmax_offset", {heads / a.tp});
  if (a.mla.on) {
    build_latent(scope);
    return;
  }
  proj_.emplace(scope / "linear_proj", rank,
                LinearShape{.in = heads * a.kv_channels,
                            .out = h,
                            .split = Split::row,
                            .bias = a.add_bias_linear,
                            .keeps_original = true});
  if (crosses) {
    const bool bias = a.add_bias_linear || a.add_qkv_bias;
    q_.emplace(scope / "linear_q", rank,
               LinearShape{.in = h, .out = heads * a.kv_channels, .bias = bias, .adds_bias = true});
    kv_.emplace(
        scope / "linear_kv", rank,
        LinearShape{.in = h, .out = 2 * heads * a.kv_channels, .bias = bias, .adds_bias = true});
    return;
  }
  qkv_.emplace(scope / "linear_qkv", rank,
               LinearShape{.in = h,
                           .out = (heads + 2 * std::max(a.num_query_groups, a.tp)) * a.kv_channels,
                           .bias = a.add_bias_linear || a.add_qkv_bias,
                           .adds_bias = true,
                           .norm = a.transformer_engine});
  if (a.qk_layernorm) {
    q_norm_.emplace(scope / "q_layernorm", rank, a.kv_channels);
    k_norm_.emplace(scope / "k_layernorm", rank, a.kv_channels);
  }
}

/// MultiLatentAttention and MLASelfAttention, whose parameters come in this order.
void Attention::build_latent(const nn::Scope& scope) {
  const Arguments& a = rank_.a;
  const std::int64_t heads = a.num_attention_heads, h = a.hidden_size;
  const std::int64_t qk = heads * (a.mla.qk_head_dim + a.mla.qk_pos_emb_head_dim);
  const bool te = a.transformer_engine && a.qk_layernorm;
  const bool apart = !a.transformer_engine && a.qk_layernorm;  // norms of their own
  proj_.emplace(scope / "linear_proj", rank_,
                LinearShape{.in = heads * a.mla.v_head_dim,
                            .out = h,
                            .split = Split::row,
                            .bias = a.add_bias_linear,
                            .keeps_original = true});
  if (a.mla.q_lora_rank > 0) {
    q_down_.emplace(scope / "linear_q_down_proj", rank_,
                    LinearShape{.in = h, .out = a.mla.q_lora_rank, .parts = 1});
    q_up_.emplace(scope / "linear_q_up_proj", rank_,
                  LinearShape{.in = a.mla.q_lora_rank, .out = qk, .norm = te});
  } else {
    q_up_.emplace(scope / "linear_q_proj", rank_, LinearShape{.in = h, .out = qk});
  }
  kv_down_.emplace(
      scope / "linear_kv_down_proj", rank_,
      LinearShape{.in = h, .out = a.mla.kv_lora_rank + a.mla.qk_pos_emb_head_dim, .parts = 1});
  kv_up_.emplace(scope / "linear_kv_up_proj", rank_,
                 LinearShape{.in = a.mla.kv_lora_rank,
                             .out = heads * (a.mla.qk_head_dim + a.mla.v_head_dim),
                             .norm = te});
  if (!apart) return;
  if (q_down_) q_norm_.emplace(scope / "q_layernorm", rank_, a.mla.q_lora_rank);
  k_norm_.emplace(scope / "kv_layernorm", rank_, a.mla.kv_lora_rank);
}

Attention::Heads Attention::from_one_product(const Tensor& x, const Tensor& freqs) {
  const Arguments& a = rank_.a;
  Tensor mixed = (*qkv_)(x);
  const std::int64_t groups = std::max(a.num_query_groups, a.tp) / a.tp;
  const std::int64_t each = a.num_attention_heads / a.tp / groups;
  const Dims by_group = x.sizes().rank() == 3
                            ? Dims{mixed.size(0), mixed.size(1), groups, (each + 2) * a.kv_channels}
                            : Dims{};
  mixed = mixed.view(by_group);
  const std::array<std::int64_t, 3> lengths{each * a.kv_channels, a.kv_channels, a.kv_channels};
  const std::vector<Tensor> parts = mixed.split(lengths, 3);
  mixed.reset();
  Heads heads{parts[0].reshape({parts[0].size(0), parts[0].size(1), -1, a.kv_channels}), parts[1],
              parts[2]};
  if (q_norm_) heads.query = (*q_norm_)(heads.query);
  if (k_norm_) heads.key = (*k_norm_)(heads.key);
  if (freqs.defined()) {
    heads.before_rotation = {heads.query, heads.key};  // of the tuple qkv_output
    heads.query = rotary(a, heads.query, freqs);
    heads.key = rotary(a, heads.key, freqs);
  }
  return heads;
}

/// CrossAttention.get_query_key_value_tensors.
Attention::Heads Attention::from_two_products(const Tensor& x, const Tensor& context) {
  const std::int64_t heads = rank_.a.num_attention_heads / rank_.a.tp, each = rank_.a.kv_channels;
  const Tensor mixed = (*kv_)(context);
  const std::array<std::int64_t, 2> lengths{each, each};
  const std::vector<Tensor> parts =
      mixed.view({mixed.size(0), mixed.size(1), heads, 2 * each}).split(lengths, -1);
  const Tensor query = (*q_)(x);
  return {query.view({query.size(0), query.size(1), heads, each}), parts[0], parts[1]};
}

/// qkv_up_proj_and_rope_apply: query, key and value of the latents and of the keys' rotary part.
std::vector<Tensor> Attention::up_projected(std::span<const Tensor> latents, const Tensor& freqs) {
  const Arguments& a = rank_.a;
  const std::int64_t heads = a.num_attention_heads / a.tp, nope = a.mla.qk_head_dim,
                     turned = a.mla.qk_pos_emb_head_dim, batch = latents[0].size(1);
  const Tensor q = (*q_up_)(latents[0]).view({-1, batch, heads, nope + turned});
  const Tensor kv =
      (*kv_up_)(latents[1].contiguous()).view({-1, batch, heads, nope + a.mla.v_head_dim});
  const std::array<std::int64_t, 2> q_split{nope, turned}, kv_split{nope, a.mla.v_head_dim};
  const std::vector<Tensor> qs = q.split(q_split, -1), kvs = kv.split(kv_split, -1);
  const Tensor q_pos = rotary(a, qs[1], freqs);
  const Tensor k_pos = rotary(a, latents[2].unsqueeze(2), freqs);
  const Tensor query = ghost::cat({qs[0], q_pos}, -1);
  const Tensor key = ghost::cat({kvs[0], k_pos.expand({q.size(0), batch, heads, turned})}, -1);
  return {query, key, kvs[1].contiguous()};
}

Attention::Heads Attention::from_latents(const Tensor& x, const Tensor& freqs,
                                         CheckpointWithoutOutput& recomputed) {
  const Arguments& a = rank_.a;
  Tensor q_compressed = q_down_ ? (*q_down_)(x) : x;
  Tensor kv_combined = (*kv_down_)(x);
  const std::array<std::int64_t, 2> latent{a.mla.kv_lora_rank, a.mla.qk_pos_emb_head_dim};
  const std::vector<Tensor> kv_parts = kv_combined.split(latent, -1);
  // The down product runs on this rank's rows alone; its rotary part is gathered here, the rest by
  // the up product.
  const Tensor k_rows = a.sequence_parallel ? gather_rows(kv_parts[1], a.tp) : kv_parts[1];
  if (q_norm_) q_compressed = (*q_norm_)(q_compressed);
  const Tensor kv_latent = k_norm_ ? (*k_norm_)(kv_parts[0]) : kv_parts[0];
  const auto up = [this, freqs](std::span<const Tensor> in) { return up_projected(in, freqs); };
  const std::vector<Tensor> latents{q_compressed, kv_latent, k_rows};
  const std::vector<Tensor> heads =
      a.recomputes("mla_up_proj") ? recomputed.checkpoint(up, latents) : up(latents);
  return {heads[0], heads[1], heads[2]};
}

/// get_query_key_value_tensors.
Attention::Heads Attention::projected(const Tensor& x, const Inputs& inputs,
                                      CheckpointWithoutOutput& recomputed) {
  if (q_) return from_two_products(x, inputs.context);
  const OffloadedModule product = rank_.offloaded("qkv_linear");
  const bool latent = rank_.a.mla.on;
  Heads heads = product(x, [&](const Tensor& in) {
    return latent ? from_latents(in, inputs.freqs, recomputed) : from_one_product(in, inputs.freqs);
  });
  heads.query = product.commit(heads.query, latent ? std::vector{x} : std::vector<Tensor>{});
  return heads;
}

Tensor Attention::operator()(const Tensor& x, const Inputs& inputs) {
  const ghost::ScopeGuard guard(scope_);
  const AttentionMask& mask = inputs.mask;
  CheckpointWithoutOutput recomputed;
  Heads heads = projected(x, inputs, recomputed);
  Tensor context;
  if (rank_.a.recomputes("core_attn")) {
    Rank& rank = rank_;
    context = checkpoint(
        [&rank, mask, sinks = sinks_](std::span<const Tensor> in) {
          return core_attention(rank, in[0], in[1], in[2], mask, sinks);
        },
        {heads.query, heads.key, heads.value});
  } else {
    const OffloadedModule core = rank_.offloaded("core_attn");
    context = core(heads.query, [&](const Tensor& query) {
      return core_attention(rank_, query, heads.key, heads.value, mask, sinks_);
    });
    context = core.commit(context, {heads.query, heads.key, heads.value});
  }
  recomputed.discard_output_and_register_recompute(context);
  const OffloadedModule proj = rank_.offloaded("attn_proj");
  const Tensor output =
      proj.commit(proj(context, [&](const Tensor& in) { return (*proj_)(in); }), {context});
  // The names of forward() live until it returns, and go in this order.
  heads.before_rotation.clear();
  for (Tensor* const name : {&heads.query, &heads.key, &heads.value}) name->reset();
  return output;
}

}  // namespace memtape::megatron
