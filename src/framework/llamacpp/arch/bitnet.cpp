// SPDX-License-Identifier: Apache-2.0
// bitnet: BitNet b1.58: norms before the last product of each part, embeddings that are the output
// matrix where they lie, and a scale of
// one number beside each matrix, where the file has it.
#include <fmt/format.h>

#include "framework/llamacpp/arch/decoder.h"

namespace memtape::llamacpp::arch {
namespace bitnet {
namespace {

void read(Hyperparameters&, KeyReader&) {}

void list_scaled(WeightList& weights, std::int64_t il, std::string_view name, std::int64_t in,
                 std::int64_t out) {
  weights.add(il, fmt::format("{}.weight", name), {in, out});
  weights.maybe(il, fmt::format("{}.scale", name), {1}, false);
}

void list(const Hyperparameters& hp, WeightList& weights) {
  weights.token_embeddings(hp);
  weights.add(-1, "output_norm.weight", {hp.n_embd});
  for (std::int64_t il = 0; il < hp.n_layer(); ++il) {
    weights.add(il, "attn_norm.weight", {hp.n_embd});
    weights.add(il, "attn_sub_norm.weight", {hp.n_embd});
    list_scaled(weights, il, "attn_q", hp.n_embd, hp.n_embd);
    list_scaled(weights, il, "attn_k", hp.n_embd, hp.k_gqa());
    list_scaled(weights, il, "attn_v", hp.n_embd, hp.k_gqa());
    list_scaled(weights, il, "attn_output", hp.n_embd, hp.n_embd);
    weights.add(il, "ffn_norm.weight", {hp.n_embd});
    weights.add(il, "ffn_sub_norm.weight", {hp.n_ff()});
    list_scaled(weights, il, "ffn_gate", hp.n_embd, hp.n_ff());
    list_scaled(weights, il, "ffn_down", hp.n_ff(), hp.n_embd);
    list_scaled(weights, il, "ffn_up", hp.n_embd, hp.n_ff());
  }
}

Tensor* scaled(GraphBuilder& b, std::int64_t il, std::string_view name, Tensor* x) {
  Tensor* y = b.mm(b.w(il, fmt::format("{}.weight", name)), x);
  Tensor* scale = b.w(il, fmt::format("{}.scale", name));
  return scale ? b.g.mul(y, scale) : y;
}

Tensor* attended(GraphBuilder& b, const AttentionInputs& in, std::int64_t il, Tensor* x,
                 Tensor* positions) {
  const Hyperparameters& hp = b.hp;
  const auto heads = [&](std::string_view name, std::int64_t n) {
    return b.g.reshape(scaled(b, il, name, x), {hp.head_v, n, b.n_tokens, 1});
  };
  Qkv qkv{};
  qkv.q = heads("attn_q", hp.n_head());
  qkv.k = heads("attn_k", hp.n_head_kv());
  qkv.v = heads("attn_v", hp.n_head_kv());
  qkv.q = b.rope(qkv.q, positions);
  qkv.k = b.rope(qkv.k, positions);
  Tensor* y = b.rms(b.attention(in, il, qkv, nullptr), b.w(il, "attn_sub_norm.weight"), il);
  return scaled(b, il, "attn_output", y);
}

Tensor* feed_forward(GraphBuilder& b, std::int64_t il, Tensor* x) {
  Tensor* up = scaled(b, il, "ffn_up", x);
  Tensor* y = b.g.glu(ggml::Glu::swiglu, scaled(b, il, "ffn_gate", x), up);
  return scaled(b, il, "ffn_down", b.rms(y, b.w(il, "ffn_sub_norm.weight"), il));
}

void build(GraphBuilder& b) {
  Tensor* x = b.input_embeddings();
  Tensor* positions = b.input_positions();
  const AttentionInputs in = b.input_attention();
  Tensor* rows = b.input_output_rows();
  for (std::int64_t il = 0; il < b.hp.n_layer(); ++il) {
    Tensor* y = attended(b, in, il, b.rms(x, b.w(il, "attn_norm.weight"), il), positions);
    x = finish_layer(b, il, y, x, rows, feed_forward);
  }
  x = b.rms(x, b.w("output_norm.weight"), -1);
  b.set_output(x);
  b.finish(b.mm(b.w("token_embd.weight"), x));
}

}  // namespace
}  // namespace bitnet

const Architecture kBitNet{"bitnet", bitnet::read, bitnet::list, bitnet::build};

}  // namespace memtape::llamacpp::arch
