// SPDX-License-Identifier: Apache-2.0
// seed_oss: as llama, the second norm by another name.
#include "framework/llamacpp/arch/architectures.h"
#include "framework/llamacpp/arch/rotated_decoder.h"

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

Tensor* rest_of_layer(GraphBuilder& b, std::int64_t il, Attended attended) {
  Tensor* middle = b.g.add(attended.y, attended.residual);
  Tensor* y = b.rms(middle, b.w(il, "post_attention_norm.weight"), il);
  return b.g.add(b.ffn(il, y, {}), middle);
}

void build(GraphBuilder& b) { build_rotated_decoder(b, rest_of_layer); }

}  // namespace

const Architecture kSeedOss{"seed_oss", read, list, build};

}  // namespace memtape::llamacpp::arch
