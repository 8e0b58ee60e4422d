// SPDX-License-Identifier: Apache-2.0
// seed_oss: as llama, the second norm by another name.
#include "framework/llamacpp/arch/architectures.h"

namespace memtape::llamacpp::arch {
namespace {

void read(Hyperparameters&, KeyReader&) {}

void list(const Hyperparameters& hp, WeightList& weights) {
  const std::int64_t q = hp.head_k * hp.n_head();
  weights.token_embeddings(hp);
  weights.output(hp);
  for (std::int64_t il = 0; il < hp.n_layer(); ++il) {
    weights.qkv(il, hp.n_embd, {q, hp.k_gqa(), hp.k_gqa()}, true);
    weights.add(il, "attn_output.weight", {q, hp.n_embd});
    weights.add(il, "attn_norm.weight", {hp.n_embd});
    weights.add(il, "post_attention_norm.weight", {hp.n_embd});
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
    y = b.rms(middle, b.w(il, "post_attention_norm.weight"), il);
    x = b.g.add(b.ffn(il, y, {}), middle);
  }
  b.head(x);
}

}  // namespace

const Architecture kSeedOss{"seed_oss", read, list, build};

}  // namespace memtape::llamacpp::arch
