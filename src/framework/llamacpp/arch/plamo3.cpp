// SPDX-License-Identifier: Apache-2.0
// plamo3: norms before and after each part, a fused gate, every eighth layer without a window.
#include "framework/llamacpp/arch/decoder.h"

namespace memtape::llamacpp::arch {
namespace plamo3 {
namespace {

constexpr std::int64_t kFullLayerEvery = 8;

void read(Hyperparameters& hp, KeyReader& keys) {
  hp.n_swa = keys.count("attention.sliding_window", 0);
  hp.swa = hp.n_swa > 0;
  if (hp.swa) hp.read_swa_pattern(keys, kFullLayerEvery);
}

/// The names of the norms behind the parts have no ".weight".
void list(const Hyperparameters& hp, WeightList& weights) {
  weights.token_embeddings(hp);
  weights.output(hp);
  for (std::int64_t il = 0; il < hp.n_layer(); ++il) {
    const std::int64_t q = hp.head_k * hp.n_head(il);
    weights.add(il, "attn_norm.weight", {hp.n_embd});
    weights.qkv(il, hp.n_embd, {q, hp.k_gqa(il), hp.v_gqa(il)}, false, true);
    weights.add(il, "attn_q_norm.weight", {hp.head_k});
    weights.add(il, "attn_k_norm.weight", {hp.head_k});
    weights.add(il, "attn_output.weight", {hp.head_v * hp.n_head(il), hp.n_embd});
    weights.add(il, "post_attention_norm", {hp.n_embd});
    weights.add(il, "ffn_norm.weight", {hp.n_embd});
    weights.add(il, "post_ffw_norm", {hp.n_embd});
    weights.add(il, "ffn_up.weight", {hp.n_embd, 2 * hp.n_ff(il)});
    weights.add(il, "ffn_down.weight", {hp.n_ff(il), hp.n_embd});
  }
}

Tensor* rest_of_layer(GraphBuilder& b, std::int64_t il, Attended a) {
  Tensor* middle = b.g.add(b.rms(a.y, b.w(il, "post_attention_norm"), il), a.residual);
  Tensor* y = b.rms(middle, b.w(il, "ffn_norm.weight"), il);
  y = b.ffn(il, y, {.activation = Activation::swiglu_fused, .gated = false});
  return b.g.add(b.rms(y, b.w(il, "post_ffw_norm"), il), middle);
}

void build(GraphBuilder& b) { build_decoder(b, {.rest = rest_of_layer}); }

}  // namespace
}  // namespace plamo3

const Architecture kPlamo3{"plamo3", plamo3::read, plamo3::list, plamo3::build};

}  // namespace memtape::llamacpp::arch
