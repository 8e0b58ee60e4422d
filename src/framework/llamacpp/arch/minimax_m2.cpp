// SPDX-License-Identifier: Apache-2.0
// minimax-m2: norms over all of Q and K, experts in every layer with a bias on their choice.
#include "framework/llamacpp/arch/architectures.h"

namespace memtape::llamacpp::arch {
namespace {

void read(Hyperparameters& hp, KeyReader& keys) {
  hp.ff_exp = keys.per_layer("expert_feed_forward_length", hp.n_layer_all, 0);
  const std::int64_t gating = keys.count("expert_gating_func", 0);
  hp.gating = gating == 2 ? Gating::sigmoid : gating == 1 ? Gating::softmax : Gating::none;
  if (hp.gating == Gating::none) keys.fail("expert_gating_func", "must be 1 or 2");
  if (hp.n_expert == 0) keys.fail("expert_count", "is missing");
}

void list(const Hyperparameters& hp, WeightList& weights) {
  const std::int64_t q = hp.head_k * hp.n_head();
  weights.token_embeddings(hp);
  weights.output(hp);
  for (std::int64_t il = 0; il < hp.n_layer(); ++il) {
    weights.qkv(il, hp.n_embd, {q, hp.k_gqa(), hp.k_gqa()});
    weights.add(il, "attn_output.weight", {q, hp.n_embd});
    weights.add(il, "attn_norm.weight", {hp.n_embd});
    weights.add(il, "attn_q_norm.weight", {q});
    weights.add(il, "attn_k_norm.weight", {hp.k_gqa()});
    weights.add(il, "ffn_norm.weight", {hp.n_embd});
    weights.experts(il, hp, hp.n_ff());
    weights.add(il, "exp_probs_b.bias", {hp.n_expert});
  }
}

Qkv heads(GraphBuilder& b, std::int64_t il, Tensor* x, Tensor* positions) {
  const Hyperparameters& hp = b.hp;
  Qkv qkv = b.qkv_flat(il, x, hp.head_v * hp.n_head(), hp.k_gqa(), hp.k_gqa());
  qkv.q = b.rms(qkv.q, b.w(il, "attn_q_norm.weight"), il);
  qkv.k = b.rms(qkv.k, b.w(il, "attn_k_norm.weight"), il);
  qkv.q = b.g.reshape(qkv.q, {hp.head_v, hp.n_head(), b.n_tokens, 1});
  qkv.k = b.g.reshape(qkv.k, {hp.head_v, hp.n_head_kv(), b.n_tokens, 1});
  qkv.v = b.g.reshape(qkv.v, {hp.head_v, hp.n_head_kv(), b.n_tokens, 1});
  qkv.q = b.rope(qkv.q, positions);
  qkv.k = b.rope(qkv.k, positions);
  return qkv;
}

void build(GraphBuilder& b) {
  const Hyperparameters& hp = b.hp;
  Tensor* x = b.input_embeddings();
  Tensor* positions = b.input_positions();
  const AttentionInputs in = b.input_attention();
  Tensor* rows = b.input_output_rows();
  for (std::int64_t il = 0; il < hp.n_layer(); ++il) {
    Tensor* residual = x;
    Tensor* y = b.rms(x, b.w(il, "attn_norm.weight"), il);
    y = b.attention(in, il, heads(b, il, y, positions), b.w(il, "attn_output.weight"));
    if (b.is_last(il)) {
      y = b.g.get_rows(y, rows);
      residual = b.g.get_rows(residual, rows);
    }
    Tensor* middle = b.g.add(y, residual);
    y = b.rms(middle, b.w(il, "ffn_norm.weight"), il);
    y = b.moe(il, y,
              {.n_expert = hp.n_expert,
               .n_used = hp.n_expert_used,
               .normalize = true,
               .scale = hp.expert_weights_scale,
               .gating = hp.gating});
    x = b.g.add(y, middle);
  }
  b.head(x);
}

}  // namespace

const Architecture kMinimaxM2{"minimax-m2", read, list, build};

}  // namespace memtape::llamacpp::arch
