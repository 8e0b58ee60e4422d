// SPDX-License-Identifier: Apache-2.0
#include "framework/llamacpp/arch/rotated_decoder.h"

namespace memtape::llamacpp::arch {

void build_rotated_decoder(GraphBuilder& b, RestOfLayer rest) {
  const Hyperparameters& hp = b.hp;
  Tensor* x = b.input_embeddings();
  Tensor* positions = b.input_positions();
  const AttentionInputs in = b.input_attention();
  Tensor* rows = b.input_output_rows();
  for (std::int64_t il = 0; il < hp.n_layer(); ++il) {
    Tensor* residual = x;
    Tensor* y = b.rms(x, b.w(il, "attn_norm.weight"), il);
    Qkv qkv = b.qkv(il, y, {hp.head_v, hp.n_head(), hp.n_head_kv()});
    if (Tensor* weight = b.w(il, "attn_q_norm.weight")) qkv.q = b.rms(qkv.q, weight, il);
    if (Tensor* weight = b.w(il, "attn_k_norm.weight")) qkv.k = b.rms(qkv.k, weight, il);
    qkv.q = b.rope(qkv.q, positions);
    qkv.k = b.rope(qkv.k, positions);
    y = b.attention(in, il, qkv, b.w(il, "attn_output.weight"));
    if (b.is_last(il)) {
      y = b.g.get_rows(y, rows);
      residual = b.g.get_rows(residual, rows);
    }
    x = rest(b, il, {y, residual});
  }
  b.head(x);
}

}  // namespace memtape::llamacpp::arch
