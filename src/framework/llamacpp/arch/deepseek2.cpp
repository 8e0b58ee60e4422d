// SPDX-License-Identifier: Apache-2.0
// deepseek2 and mistral4: DeepSeek V2 and V3, Kimi K2, GLM-4.7-Flash, Mistral 4: latent attention,
// with or without the absorbed up-projections; dense layers first, then routed and shared experts.
#include "framework/llamacpp/arch/plain_decoder.h"

namespace memtape::llamacpp::arch {
namespace deepseek2 {
namespace {

/// expert_gating_func; GLM-4.7-Flash came without it.
Gating gating_of(const Hyperparameters& hp, KeyReader& keys) {
  switch (keys.count("expert_gating_func", 0)) {
    case 0: {
      const bool flash = (hp.n_layer() == 47 || hp.n_layer() == 48) && hp.n_vocab == 154880;
      return flash ? Gating::sigmoid : Gating::softmax;
    }
    case 1: return Gating::softmax;
    case 2: return Gating::sigmoid;
    case 3: return Gating::softmax_weight;
    default: keys.fail("expert_gating_func", "is not known"); return Gating::softmax;
  }
}

void read(Hyperparameters& hp, KeyReader& keys) {
  const std::int64_t n = hp.n_layer();
  const bool lite = n == 26 || n == 27 || (n == 48 && hp.n_vocab == 128256);
  hp.n_layer_dense_lead = keys.count("leading_dense_block_count", 0);
  if (!lite) hp.n_lora_q = keys.dimension("attention.q_lora_rank");
  hp.n_lora_kv = keys.dimension("attention.kv_lora_rank");
  hp.head_k_mla = keys.count("attention.key_length_mla", 0);
  hp.head_v_mla = keys.count("attention.value_length_mla", 0);
  hp.ff_exp = keys.per_layer("expert_feed_forward_length", hp.n_layer_all, 0);
  hp.n_expert_shared = keys.count("expert_shared_count", 0);
  hp.expert_weights_scale = keys.number("expert_weights_scale", 0);
  hp.expert_weights_norm = keys.flag("expert_weights_norm", false);
  hp.gating = gating_of(hp, keys);
  hp.attn_temp_scale = keys.number("attention.temperature_scale", 0);
  const std::int64_t k = hp.is_mla() ? hp.head_k_mla : hp.head_k;
  if (k <= hp.n_rot) keys.fail("rope.dimension_count", "leaves nothing of a head unrotated");
}

std::int64_t head_k(const Hyperparameters& hp) { return hp.is_mla() ? hp.head_k_mla : hp.head_k; }
std::int64_t head_v(const Hyperparameters& hp) { return hp.is_mla() ? hp.head_v_mla : hp.head_v; }

void list_attention(const Hyperparameters& hp, std::int64_t il, WeightList& weights) {
  const std::int64_t q = hp.n_head() * head_k(hp), nope = head_k(hp) - hp.n_rot;
  weights.add(il, "attn_norm.weight", {hp.n_embd});
  weights.add(il, "attn_kv_a_norm.weight", {hp.n_lora_kv});
  if (hp.n_lora_q > 0) {
    weights.add(il, "attn_q_a_norm.weight", {hp.n_lora_q});
    weights.add(il, "attn_q_a.weight", {hp.n_embd, hp.n_lora_q});
    weights.add(il, "attn_q_b.weight", {hp.n_lora_q, q});
  } else {
    weights.add(il, "attn_q.weight", {hp.n_embd, q});
  }
  weights.add(il, "attn_kv_a_mqa.weight", {hp.n_embd, hp.n_lora_kv + hp.n_rot});
  if (hp.is_mla()) {
    weights.add(il, "attn_k_b.weight", {nope, hp.n_lora_kv, hp.n_head()});
    weights.add(il, "attn_v_b.weight", {hp.n_lora_kv, head_v(hp), hp.n_head()});
  } else {
    weights.add(il, "attn_kv_b.weight", {hp.n_lora_kv, hp.n_head() * (nope + head_v(hp))});
  }
  weights.add(il, "attn_output.weight", {hp.n_head() * head_v(hp), hp.n_embd});
}

void list(const Hyperparameters& hp, WeightList& weights) {
  weights.token_embeddings(hp);
  weights.output(hp);
  for (std::int64_t il = 0; il < hp.n_layer(); ++il) {
    list_attention(hp, il, weights);
    weights.add(il, "ffn_norm.weight", {hp.n_embd});
    if (il < hp.n_layer_dense_lead) {
      weights.gated_ffn(il, hp.n_embd, hp.n_ff());
      continue;
    }
    // converters write the bias of V3's router only
    weights.maybe(il, "exp_probs_b.bias", {hp.n_expert}, hp.gating == Gating::sigmoid);
    weights.experts(il, hp, hp.n_ff_exp(il));
    weights.gated_ffn(il, hp.n_embd, hp.n_ff_exp(il) * hp.n_expert_shared, "_shexp");
  }
}

Tensor* queries(GraphBuilder& b, std::int64_t il, Tensor* x) {
  const Hyperparameters& hp = b.hp;
  Tensor* q = nullptr;
  if (Tensor* weight = b.w(il, "attn_q.weight")) {
    q = b.mm(weight, x);
  } else {
    q = b.rms(b.mm(b.w(il, "attn_q_a.weight"), x), b.w(il, "attn_q_a_norm.weight"), il);
    q = b.mm(b.w(il, "attn_q_b.weight"), q);
  }
  return b.g.reshape(q, {head_k(hp), hp.n_head(), b.n_tokens, 1});
}

struct Compressed {
  Tensor *kv, *k_rotated;
};

Compressed compress(GraphBuilder& b, std::int64_t il, Tensor* x, Tensor* positions) {
  const Hyperparameters& hp = b.hp;
  Tensor* both = b.mm(b.w(il, "attn_kv_a_mqa.weight"), x);
  const Bytes row = ggml::row_size(both->type, hp.n_lora_kv + hp.n_rot);
  Tensor* kv = b.g.view_2d(both, {hp.n_lora_kv, b.n_tokens, 1, 1}, row, 0);
  Tensor* k = b.g.view_3d(both, {hp.n_rot, 1, b.n_tokens, 1}, row, row,
                          ggml::row_size(both->type, hp.n_lora_kv));
  if (!b.build().rotates_views()) {
    k = b.g.cont(k);
    kv = b.g.cont(kv);
  }
  k = b.rope(k, positions);
  return {b.rms(kv, b.w(il, "attn_kv_a_norm.weight"), il), k};
}

/// The rotated part came first for a while.
Tensor* joined(GraphBuilder& b, Tensor* plain, Tensor* rotated) {
  const bool rotated_first = b.build().rotates_views() && !b.build().views_latent_values();
  return rotated_first ? b.g.concat(rotated, plain, 0) : b.g.concat(plain, rotated, 0);
}

/// The rotation of whole queries leaves the rest of a head as it is.
Tensor* rotated_queries(GraphBuilder& b, Tensor* q, Tensor* positions) {
  if (b.build().rotates_whole_queries()) return b.rope(q, positions);
  const Hyperparameters& hp = b.hp;
  const std::int64_t nope = head_k(hp) - hp.n_rot;
  Tensor* plain = b.g.view_3d(q, {nope, hp.n_head(), b.n_tokens, 1}, q->nb[1], q->nb[2], 0);
  Tensor* turned = b.g.view_3d(q, {hp.n_rot, hp.n_head(), b.n_tokens, 1}, q->nb[1], q->nb[2],
                               ggml::row_size(q->type, nope));
  if (!b.build().rotates_views()) turned = b.g.cont(turned);
  return joined(b, plain, b.rope(turned, positions));
}

/// The up-projection of K is absorbed into Q: one head of latents for all.
Tensor* absorbed(GraphBuilder& b, const AttentionInputs& in, std::int64_t il, Tensor* x,
                 Tensor* positions, Tensor* scale) {
  const Hyperparameters& hp = b.hp;
  const std::int64_t nope = head_k(hp) - hp.n_rot;
  Tensor* q = queries(b, il, x);
  Compressed c = compress(b, il, x, positions);
  Tensor* plain = b.g.view_3d(q, {nope, hp.n_head(), b.n_tokens, 1}, q->nb[1], q->nb[2], 0);
  Tensor* turned = b.g.view_3d(q, {hp.n_rot, hp.n_head(), b.n_tokens, 1}, q->nb[1], q->nb[2],
                               ggml::row_size(q->type, nope));
  turned = b.rope(turned, positions);
  plain = b.mm(b.w(il, "attn_k_b.weight"), b.g.permute(plain, {0, 2, 1, 3}));
  plain = b.g.permute(plain, {0, 2, 1, 3});
  Qkv qkv{};
  qkv.v = b.g.reshape(c.kv, {hp.n_lora_kv, 1, b.n_tokens, 1});
  qkv.q = joined(b, plain, turned);
  qkv.k = joined(b, qkv.v, c.k_rotated);
  if (scale) qkv.q = b.g.mul(qkv.q, scale);
  const AttentionExtras extras{.v_mla = b.w(il, "attn_v_b.weight")};
  Tensor* wo = b.w(il, "attn_output.weight");
  return b.has_latent_values() ? b.attention(in, il, qkv, wo, extras)
                               : b.attention_k(in, il, qkv, wo, extras);
}

/// K and V of all heads.
Tensor* expanded(GraphBuilder& b, const AttentionInputs& in, std::int64_t il, Tensor* x,
                 Tensor* positions, Tensor* scale) {
  const Hyperparameters& hp = b.hp;
  const std::int64_t nope = head_k(hp) - hp.n_rot, heads = hp.n_head();
  Tensor* q = queries(b, il, x);
  const Compressed c = compress(b, il, x, positions);
  Tensor* kv = b.mm(b.w(il, "attn_kv_b.weight"), c.kv);
  const Bytes row = ggml::row_size(kv->type, nope + head_v(hp));
  Tensor* k = b.g.view_3d(kv, {nope, heads, b.n_tokens, 1}, row, row * heads, 0);
  Tensor* v = b.g.view_3d(kv, {head_v(hp), heads, b.n_tokens, 1}, row, row * heads,
                          ggml::row_size(kv->type, nope));
  Qkv qkv{};
  qkv.v = b.g.cont(v);
  qkv.q = rotated_queries(b, q, positions);
  qkv.k = joined(b, k, b.g.repeat(c.k_rotated, {hp.n_rot, heads, b.n_tokens, 1}));
  if (scale) qkv.q = b.g.mul(qkv.q, scale);
  return b.attention(in, il, qkv, b.w(il, "attn_output.weight"));
}

void build(GraphBuilder& b) {
  const Hyperparameters& hp = b.hp;
  Tensor* x = b.input_embeddings();
  Tensor* scale = hp.attn_temp_scale != 0 ? b.input_attention_scale() : nullptr;
  Tensor* positions = b.input_positions();
  const bool latents = hp.is_mla() && !b.has_latent_values();
  const AttentionInputs in = latents ? b.input_attention_k() : b.input_attention();
  Tensor* rows = b.input_output_rows();
  for (std::int64_t il = 0; il < hp.n_layer(); ++il) {
    Tensor* y = b.rms(x, b.w(il, "attn_norm.weight"), il);
    y = hp.is_mla() ? absorbed(b, in, il, y, positions, scale)
                    : expanded(b, in, il, y, positions, scale);
    x = finish_layer(b, il, y, x, rows, dense_or_experts);
  }
  b.head(x);
}

}  // namespace
}  // namespace deepseek2

const Architecture kDeepseek2{"deepseek2", deepseek2::read, deepseek2::list, deepseek2::build};
const Architecture kMistral4{"mistral4", deepseek2::read, deepseek2::list, deepseek2::build};

}  // namespace memtape::llamacpp::arch
