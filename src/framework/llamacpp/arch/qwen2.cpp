// SPDX-License-Identifier: Apache-2.0
// qwen2: Qwen2 and Qwen2.5, with biases on Q, K and V.
#include "framework/llamacpp/arch/architectures.h"

namespace memtape::llamacpp::arch {
namespace {

void read(Hyperparameters& hp, KeyReader&) { hp.is_70b = hp.n_layer() == 80; }

void list(const Hyperparameters& hp, WeightList& weights) {
  weights.token_embeddings(hp);
  weights.output(hp);
  weights.maybe(-1, "output.bias", {hp.n_vocab}, false);
  for (std::int64_t il = 0; il < hp.n_layer(); ++il) {
    weights.add(il, "attn_norm.weight", {hp.n_embd});
    weights.qkv(il, hp.n_embd, {hp.n_embd, hp.k_gqa(), hp.k_gqa()}, true);
    weights.add(il, "attn_output.weight", {hp.n_embd, hp.n_embd});
    weights.add(il, "ffn_norm.weight", {hp.n_embd});
    weights.gated_ffn(il, hp.n_embd, hp.n_ff());
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
    Tensor* y = b.rms(x, b.w(il, "attn_norm.weight"), il);
    Qkv qkv = b.qkv(il, y, {hp.head_v, hp.n_head(), hp.n_head_kv()});
    qkv.q = b.rope(qkv.q, positions);
    qkv.k = b.rope(qkv.k, positions);
    y = b.attention(in, il, qkv, b.w(il, "attn_output.weight"));
    if (b.is_last(il)) {
      y = b.g.get_rows(y, rows);
      residual = b.g.get_rows(residual, rows);
    }
    Tensor* middle = b.g.add(y, residual);
    y = b.ffn(il, b.rms(middle, b.w(il, "ffn_norm.weight"), il), {});
    x = b.g.add(y, middle);
  }
  b.head(x);
}

}  // namespace

const Architecture kQwen2{"qwen2", read, list, build};

}  // namespace memtape::llamacpp::arch
