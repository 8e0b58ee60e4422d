// SPDX-License-Identifier: Apache-2.0
// qwen2: Qwen2 and Qwen2.5, with biases on Q, K and V.
#include "framework/llamacpp/arch/architectures.h"
#include "framework/llamacpp/arch/rotated_decoder.h"

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

Tensor* rest_of_layer(GraphBuilder& b, std::int64_t il, Attended attended) {
  Tensor* middle = b.g.add(attended.y, attended.residual);
  Tensor* y = b.ffn(il, b.rms(middle, b.w(il, "ffn_norm.weight"), il), {});
  return b.g.add(y, middle);
}

void build(GraphBuilder& b) { build_rotated_decoder(b, rest_of_layer); }

}  // namespace

const Architecture kQwen2{"qwen2", read, list, build};

}  // namespace memtape::llamacpp::arch
