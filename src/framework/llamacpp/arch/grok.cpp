// SPDX-License-Identifier: Apache-2.0
// grok: Grok-1 and Grok-2: norms before and after each part, soft caps on scores, experts and, in
// Grok-2, a dense feed-forward beside them. llama.cpp turns flash attention off for it.
#include "framework/llamacpp/arch/decoder.h"

namespace memtape::llamacpp::arch {
namespace grok {
namespace {

void read(Hyperparameters& hp, KeyReader& keys) {
  hp.ff_exp = keys.per_layer("expert_feed_forward_length", hp.n_layer_all, 0);
  hp.logit_scale = 1;  // always scaled
  hp.embedding_scale = 1;
  hp.attn_soft_cap = hp.never_flash = true;
  hp.final_logit_softcapping = keys.number("final_logit_softcapping", 0);
  hp.expert_weights_norm = true;
  if (hp.n_expert == 0) keys.fail("expert_count", "is missing");
}

void list(const Hyperparameters& hp, WeightList& weights) {
  weights.token_embeddings(hp);
  weights.output(hp);
  // only Grok-2 gives its experts a width of their own, beside the dense one
  const bool dense = hp.n_ff_exp() > 0;
  for (std::int64_t il = 0; il < hp.n_layer(); ++il) {
    weights.add(il, "attn_norm.weight", {hp.n_embd});
    weights.qkv(il, hp.n_embd, {hp.n_embd, hp.k_gqa(), hp.k_gqa()});
    weights.add(il, "attn_output.weight", {hp.n_embd, hp.n_embd});
    weights.add(il, "attn_output_norm.weight", {hp.n_embd});
    weights.add(il, "ffn_norm.weight", {hp.n_embd});
    for (const char* name : {"ffn_gate.weight", "ffn_up.weight"})
      weights.maybe(il, name, {hp.n_embd, hp.n_ff()}, dense);
    weights.maybe(il, "ffn_down.weight", {hp.n_ff(), hp.n_embd}, dense);
    weights.experts(il, hp, dense ? hp.n_ff_exp() : hp.n_ff());
    if (!weights.maybe(il, "layer_output_norm.weight", {hp.n_embd}, !dense))
      weights.add(il, "post_ffw_norm.weight", {hp.n_embd});
  }
}

Tensor* rest_of_layer(GraphBuilder& b, std::int64_t il, Attended a) {
  Tensor* middle = b.g.add(b.rms(a.y, b.w(il, "attn_output_norm.weight"), il), a.residual);
  Tensor* x = b.rms(middle, b.w(il, "ffn_norm.weight"), il);
  Tensor* y = b.moe(il, x,
                    {.n_expert = b.hp.n_expert,
                     .n_used = b.hp.n_expert_used,
                     .activation = Activation::gelu,
                     .normalize = true});
  if (b.w(il, "ffn_up.weight"))
    y = b.g.scale(b.g.add(b.ffn(il, x, {.activation = Activation::gelu}), y));
  Tensor* last = b.w(il, "layer_output_norm.weight");
  return b.g.add(b.rms(y, last ? last : b.w(il, "post_ffw_norm.weight"), il), middle);
}

void build(GraphBuilder& b) { build_decoder(b, {.rest = rest_of_layer}); }

}  // namespace
}  // namespace grok

const Architecture kGrok{"grok", grok::read, grok::list, grok::build};

}  // namespace memtape::llamacpp::arch
