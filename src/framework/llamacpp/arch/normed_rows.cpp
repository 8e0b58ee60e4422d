// SPDX-License-Identifier: Apache-2.0
#include "framework/llamacpp/arch/normed_rows.h"

namespace memtape::llamacpp::arch {

Qkv heads_of_normed_rows(GraphBuilder& b, std::int64_t il, Tensor* x, Tensor* positions) {
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

void build_experts_on_normed_rows(GraphBuilder& b, const MoeSpec& experts) {
  const Hyperparameters& hp = b.hp;
  Tensor* x = b.input_embeddings();
  Tensor* positions = b.input_positions();
  const AttentionInputs in = b.input_attention();
  Tensor* rows = b.input_output_rows();
  for (std::int64_t il = 0; il < hp.n_layer(); ++il) {
    Tensor* residual = x;
    Tensor* y = b.rms(x, b.w(il, "attn_norm.weight"), il);
    y = b.attention(in, il, heads_of_normed_rows(b, il, y, positions),
                    b.w(il, "attn_output.weight"));
    if (b.is_last(il)) {
      y = b.g.get_rows(y, rows);
      residual = b.g.get_rows(residual, rows);
    }
    Tensor* middle = b.g.add(y, residual);
    y = b.rms(middle, b.w(il, "ffn_norm.weight"), il);
    y = b.moe(il, y, experts);
    x = b.g.add(y, middle);
  }
  b.head(x);
}

}  // namespace memtape::llamacpp::arch
