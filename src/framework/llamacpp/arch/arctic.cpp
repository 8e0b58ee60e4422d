// SPDX-License-Identifier: Apache-2.0
// arctic: experts beside the rest of the layer, of the layer's input with a norm of its own.
#include "framework/llamacpp/arch/decoder.h"

namespace memtape::llamacpp::arch {
namespace arctic {
namespace {

void read(Hyperparameters& hp, KeyReader& keys) {
  hp.expert_weights_norm = true;
  if (hp.n_expert == 0) keys.fail("expert_count", "is missing");
}

void list(const Hyperparameters& hp, WeightList& weights) {
  weights.token_embeddings(hp);
  weights.output(hp);
  for (std::int64_t il = 0; il < hp.n_layer(); ++il) {
    weights.add(il, "attn_norm.weight", {hp.n_embd});
    weights.qkv(il, hp.n_embd, {hp.n_embd, hp.k_gqa(), hp.k_gqa()});
    weights.add(il, "attn_output.weight", {hp.n_embd, hp.n_embd});
    weights.add(il, "ffn_norm.weight", {hp.n_embd});
    weights.gated_ffn(il, hp.n_embd, hp.n_embd);
    weights.add(il, "ffn_norm_exps.weight", {hp.n_embd});
    weights.experts(il, hp, hp.n_ff());
  }
}

Tensor* rest_of_layer(GraphBuilder& b, std::int64_t il, Attended a) {
  Tensor* middle = b.g.add(a.y, a.residual);
  Tensor* dense = b.ffn(il, b.rms(middle, b.w(il, "ffn_norm.weight"), il), {});
  dense = b.g.add(dense, middle);
  Tensor* x = b.rms(a.residual, b.w(il, "ffn_norm_exps.weight"), il);
  Tensor* routed =
      b.moe(il, x, {.n_expert = b.hp.n_expert, .n_used = b.hp.n_expert_used, .normalize = true});
  return b.g.add(routed, dense);
}

void build(GraphBuilder& b) { build_decoder(b, {.rest = rest_of_layer}); }

}  // namespace
}  // namespace arctic

const Architecture kArctic{"arctic", arctic::read, arctic::list, arctic::build};

}  // namespace memtape::llamacpp::arch
