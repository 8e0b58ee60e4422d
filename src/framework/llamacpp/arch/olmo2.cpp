// SPDX-License-Identifier: Apache-2.0
// olmo2: OLMo 2 and 3: norms after each part and over all of Q and K; the latter with windows.
#include "framework/llamacpp/arch/architectures.h"

namespace memtape::llamacpp::arch {
namespace {

void read(Hyperparameters& hp, KeyReader& keys) {
  hp.n_swa = keys.count("attention.sliding_window", 0);
  hp.swa = hp.n_swa > 0;
  if (hp.swa) hp.read_swa_pattern(keys, 4);
}

void list(const Hyperparameters& hp, WeightList& weights) {
  weights.token_embeddings(hp);
  weights.output(hp);
  for (std::int64_t il = 0; il < hp.n_layer(); ++il) {
    weights.qkv(il, hp.n_embd, {hp.n_embd, hp.k_gqa(), hp.k_gqa()});
    weights.add(il, "attn_output.weight", {hp.n_embd, hp.n_embd});
    weights.add(il, "attn_q_norm.weight", {hp.n_embd});
    weights.add(il, "attn_k_norm.weight", {hp.k_gqa()});
    weights.add(il, "post_attention_norm.weight", {hp.n_embd});
    weights.gated_ffn(il, hp.n_embd, hp.n_ff());
    weights.add(il, "post_ffw_norm.weight", {hp.n_embd});
  }
}

Qkv heads(GraphBuilder& b, std::int64_t il, Tensor* x, Tensor* positions) {
  const Hyperparameters& hp = b.hp;
  Qkv qkv = b.qkv_flat(il, x, hp.head_v * hp.n_head(), hp.k_gqa(), hp.k_gqa());
  qkv.q = b.rms(qkv.q, b.w(il, "attn_q_norm.weight"), il);
  qkv.k = b.rms(qkv.k, b.w(il, "attn_k_norm.weight"), il);
  qkv.q = b.rope(b.g.reshape(qkv.q, {hp.head_v, hp.n_head(), b.n_tokens, 1}), positions);
  qkv.k = b.rope(b.g.reshape(qkv.k, {hp.head_v, hp.n_head_kv(), b.n_tokens, 1}), positions);
  qkv.v = b.g.reshape(qkv.v, {hp.head_v, hp.n_head_kv(), b.n_tokens, 1});
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
    Tensor* y = b.attention(in, il, heads(b, il, x, positions), b.w(il, "attn_output.weight"));
    if (b.is_last(il)) {
      y = b.g.get_rows(y, rows);
      residual = b.g.get_rows(residual, rows);
    }
    y = b.rms(y, b.w(il, "post_attention_norm.weight"), il);
    Tensor* middle = b.g.add(y, residual);
    y = b.rms(b.ffn(il, middle, {}), b.w(il, "post_ffw_norm.weight"), -1);
    x = b.g.add(y, middle);
  }
  b.head(x);
}

}  // namespace

const Architecture kOlmo2{"olmo2", read, list, build};

}  // namespace memtape::llamacpp::arch
