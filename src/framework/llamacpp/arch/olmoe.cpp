// SPDX-License-Identifier: Apache-2.0
// olmoe: experts in every layer, norms over all of Q and K.
#include "framework/llamacpp/arch/architectures.h"

namespace memtape::llamacpp::arch {
namespace {

void read(Hyperparameters& hp, KeyReader& keys) {
  if (hp.n_expert == 0) keys.fail("expert_count", "is missing");
}

void list(const Hyperparameters& hp, WeightList& weights) {
  weights.token_embeddings(hp);
  weights.output(hp);
  for (std::int64_t il = 0; il < hp.n_layer(); ++il) {
    weights.add(il, "attn_norm.weight", {hp.n_embd});
    weights.qkv(il, hp.n_embd, {hp.n_embd, hp.k_gqa(), hp.k_gqa()});
    weights.add(il, "attn_output.weight", {hp.n_embd, hp.n_embd});
    weights.add(il, "attn_q_norm.weight", {hp.n_embd});
    weights.add(il, "attn_k_norm.weight", {hp.n_embd});
    weights.add(il, "ffn_norm.weight", {hp.n_embd});
    weights.experts(il, hp, hp.n_ff());
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
    y = b.moe(il, y, {.n_expert = hp.n_expert, .n_used = hp.n_expert_used});
    x = b.g.add(y, middle);
  }
  b.head(x);
}

}  // namespace

const Architecture kOlmoe{"olmoe", read, list, build};

}  // namespace memtape::llamacpp::arch
