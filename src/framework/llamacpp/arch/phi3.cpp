// SPDX-License-Identifier: Apache-2.0
// phi3: Phi-3 and Phi-4, with fused Q, K, V and a fused gate. Its sliding window is not used.
#include "framework/llamacpp/arch/architectures.h"

namespace memtape::llamacpp::arch {
namespace {

void read(Hyperparameters&, KeyReader&) {}

void list(const Hyperparameters& hp, WeightList& weights) {
  weights.token_embeddings(hp);
  weights.output(hp);
  for (std::int64_t il = 0; il < hp.n_layer(); ++il) {
    weights.add(il, "attn_norm.weight", {hp.n_embd});
    weights.qkv(il, hp.n_embd, {hp.n_embd, hp.k_gqa(), hp.k_gqa()}, false, true);
    weights.add(il, "attn_output.weight", {hp.n_embd, hp.n_embd});
    weights.add(il, "ffn_norm.weight", {hp.n_embd});
    weights.add(il, "ffn_down.weight", {hp.n_ff(), hp.n_embd});
    weights.add(il, "ffn_up.weight", {hp.n_embd, 2 * hp.n_ff()});
    weights.rope_factors(hp, il);
  }
}

void build(GraphBuilder& b) {
  const Hyperparameters& hp = b.hp;
  Tensor* x = b.input_embeddings();
  Tensor* positions = b.input_positions();
  const AttentionInputs in = b.input_attention();
  Tensor* rows = b.input_output_rows();
  for (std::int64_t il = 0; il < hp.n_layer(); ++il) {
    Tensor* residual = x;
    Tensor* factors = b.rope_factors(il);
    Tensor* y = b.rms(x, b.w(il, "attn_norm.weight"), il);
    Qkv qkv = b.qkv(il, y, {hp.head_v, hp.n_head(), hp.n_head_kv()});
    qkv.q = b.g.scale(b.rope(qkv.q, positions, factors));
    qkv.k = b.rope(qkv.k, positions, factors);
    y = b.attention(in, il, qkv, b.w(il, "attn_output.weight"));
    if (b.is_last(il)) {
      y = b.g.get_rows(y, rows);
      residual = b.g.get_rows(residual, rows);
    }
    residual = b.g.add(y, residual);
    y = b.rms(residual, b.w(il, "ffn_norm.weight"), il);
    y = b.ffn(il, y, {.activation = Activation::swiglu_fused, .gated = false});
    x = b.g.add(residual, y);
  }
  b.head(x);
}

}  // namespace

const Architecture kPhi3{"phi3", read, list, build};

}  // namespace memtape::llamacpp::arch
