// SPDX-License-Identifier: Apache-2.0
// deci: Nemotron's pruned Llamas: layers with attention, with one matrix in its place, or with
// neither, and feed-forwards of many widths or none.
#include "framework/llamacpp/arch/decoder.h"

namespace memtape::llamacpp::arch {
namespace deci {
namespace {

void read(Hyperparameters& hp, KeyReader&) {
  hp.is_70b = hp.n_layer() == 80;
  hp.attention.assign(hp.recurrent.size(), false);
  for (std::int64_t il = 0; il < hp.n_layer(); ++il)
    hp.attention[static_cast<std::size_t>(il)] = hp.n_head_kv(il) > 0;
}

void list(const Hyperparameters& hp, WeightList& weights) {
  weights.token_embeddings(hp);
  weights.output(hp);
  for (std::int64_t il = 0; il < hp.n_layer(); ++il) {
    const std::int64_t q = hp.head_k * hp.n_head(il);
    if (hp.n_head(il) > 0) weights.add(il, "attn_norm.weight", {hp.n_embd});
    if (hp.has_attention(il)) {
      weights.qkv(il, hp.n_embd, {q, hp.k_gqa(il), hp.v_gqa(il)});
      weights.add(il, "attn_output.weight", {q, hp.n_embd});
    } else if (hp.n_head(il) > 0) {
      weights.add(il, "attn_output.weight", {hp.n_embd, hp.n_embd});
    }
    weights.rope_factors(hp, il);
    if (hp.n_ff(il) == 0) continue;
    weights.add(il, "ffn_norm.weight", {hp.n_embd});
    weights.gated_ffn(il, hp.n_embd, hp.n_ff(il));
  }
}

Tensor* mixed(GraphBuilder& b, std::int64_t il, Tensor* x, const AttentionInputs& in,
              Tensor* positions) {
  const Hyperparameters& hp = b.hp;
  if (hp.n_head(il) == 0) return x;
  x = b.rms(x, b.w(il, "attn_norm.weight"), il);
  if (!hp.has_attention(il)) return b.mm(b.w(il, "attn_output.weight"), x);
  Tensor* factors = b.rope_factors(il);
  Qkv qkv = b.qkv(il, x, {hp.head_v, hp.n_head(il), hp.n_head_kv(il)});
  qkv.q = b.rope(qkv.q, positions, factors);
  qkv.k = b.rope(qkv.k, positions, factors);
  return b.attention(in, il, qkv, b.w(il, "attn_output.weight"));
}

void build(GraphBuilder& b) {
  const Hyperparameters& hp = b.hp;
  Tensor* x = b.input_embeddings();
  Tensor* positions = b.input_positions();
  const AttentionInputs in = b.input_attention();
  Tensor* rows = b.input_output_rows();
  for (std::int64_t il = 0; il < hp.n_layer(); ++il) {
    Tensor* y = mixed(b, il, x, in, positions);
    Tensor* residual = x;
    if (b.is_last(il)) {
      y = b.g.get_rows(y, rows);
      residual = b.g.get_rows(residual, rows);
    }
    if (hp.n_ff(il) == 0) continue;  // what attention gave is dropped, too
    Tensor* middle = hp.n_head(il) > 0 ? b.g.add(y, residual) : y;
    x = b.g.add(b.ffn(il, b.rms(middle, b.w(il, "ffn_norm.weight"), il), {}), middle);
  }
  b.head(x);
}

}  // namespace
}  // namespace deci

const Architecture kDeci{"deci", deci::read, deci::list, deci::build};

}  // namespace memtape::llamacpp::arch
