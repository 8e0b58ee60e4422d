// SPDX-License-Identifier: Apache-2.0
// starcoder2: layer norms and biases everywhere, an ungated feed-forward.
#include "framework/llamacpp/arch/architectures.h"

namespace memtape::llamacpp::arch {
namespace {

void read(Hyperparameters& hp, KeyReader&) {
  hp.usually_tied = true;  // as BigCode publishes the 3B and 7B
}

void list(const Hyperparameters& hp, WeightList& weights) {
  weights.token_embeddings(hp);
  weights.output(hp);
  weights.add(-1, "output_norm.bias", {hp.n_embd});
  for (std::int64_t il = 0; il < hp.n_layer(); ++il) {
    weights.add(il, "attn_norm.weight", {hp.n_embd});
    weights.add(il, "attn_norm.bias", {hp.n_embd});
    weights.qkv(il, hp.n_embd, {hp.n_embd, hp.k_gqa(), hp.k_gqa()}, true);
    weights.add(il, "attn_output.weight", {hp.n_embd, hp.n_embd});
    weights.add(il, "attn_output.bias", {hp.n_embd});
    weights.add(il, "ffn_norm.weight", {hp.n_embd});
    weights.add(il, "ffn_norm.bias", {hp.n_embd});
    weights.add(il, "ffn_down.weight", {hp.n_ff(), hp.n_embd});
    weights.add(il, "ffn_up.weight", {hp.n_embd, hp.n_ff()});
    weights.add(il, "ffn_down.bias", {hp.n_embd});
    weights.add(il, "ffn_up.bias", {hp.n_ff()});
  }
}

void build(GraphBuilder& b) {
  const Hyperparameters& hp = b.hp;
  const auto norm = [&](Tensor* x, std::int64_t il, std::string_view weight,
                        std::string_view bias) {
    return b.norm(x, b.w(il, weight), b.w(il, bias), Norm::layer, il);
  };
  Tensor* x = b.input_embeddings();
  Tensor* positions = b.input_positions();
  const AttentionInputs in = b.input_attention();
  Tensor* rows = b.input_output_rows();
  for (std::int64_t il = 0; il < hp.n_layer(); ++il) {
    Tensor* residual = x;
    Tensor* y = norm(x, il, "attn_norm.weight", "attn_norm.bias");
    Qkv qkv = b.qkv(il, y, {hp.head_v, hp.n_head(), hp.n_head_kv()});
    qkv.q = b.rope(qkv.q, positions);
    qkv.k = b.rope(qkv.k, positions);
    y = b.attention(in, il, qkv, b.w(il, "attn_output.weight"),
                    {.wo_bias = b.w(il, "attn_output.bias")});
    if (b.is_last(il)) {
      y = b.g.get_rows(y, rows);
      residual = b.g.get_rows(residual, rows);
    }
    Tensor* middle = b.g.add(y, residual);
    y = norm(middle, il, "ffn_norm.weight", "ffn_norm.bias");
    x = b.g.add(b.ffn(il, y, {.activation = Activation::gelu, .gated = false}), middle);
  }
  b.head(x, Norm::layer);
}

}  // namespace

const Architecture kStarcoder2{"starcoder2", read, list, build};

}  // namespace memtape::llamacpp::arch
