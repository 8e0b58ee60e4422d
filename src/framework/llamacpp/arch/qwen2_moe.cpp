// SPDX-License-Identifier: Apache-2.0
// qwen2moe: Qwen1.5 and Qwen2 with experts and a shared expert behind a gate of its own.
#include "framework/llamacpp/arch/architectures.h"
#include "framework/llamacpp/arch/decoder.h"

namespace memtape::llamacpp::arch {
namespace qwen2_moe {
namespace {

void read(Hyperparameters& hp, KeyReader& keys) {
  hp.ff_exp = keys.per_layer("expert_feed_forward_length", hp.n_layer_all, 0);
  hp.n_ff_shexp = keys.count("expert_shared_feed_forward_length", 0);
  hp.expert_weights_scale = keys.number("expert_weights_scale", 0);
  if (hp.n_expert == 0) keys.fail("expert_count", "is missing");
}

void list(const Hyperparameters& hp, WeightList& weights) {
  const std::int64_t width = hp.n_ff_exp() > 0 ? hp.n_ff_exp() : hp.n_ff() / hp.n_expert_used;
  weights.token_embeddings(hp);
  weights.output(hp);
  for (std::int64_t il = 0; il < hp.n_layer(); ++il) {
    weights.add(il, "attn_norm.weight", {hp.n_embd});
    weights.qkv(il, hp.n_embd, {hp.n_embd, hp.k_gqa(), hp.k_gqa()}, true);
    weights.add(il, "attn_output.weight", {hp.n_embd, hp.n_embd});
    weights.add(il, "ffn_norm.weight", {hp.n_embd});
    weights.experts(il, hp, width);
    weights.add(il, "ffn_gate_inp_shexp.weight", {hp.n_embd});
    weights.gated_ffn(il, hp.n_embd, hp.n_ff_shexp > 0 ? hp.n_ff_shexp : hp.n_ff(), "_shexp");
  }
}

Tensor* feed_forward(GraphBuilder& b, std::int64_t il, Tensor* x) {
  Tensor* routed = b.moe(il, x,
                         {.n_expert = b.hp.n_expert,
                          .n_used = b.hp.n_expert_used,
                          .scale = b.hp.expert_weights_scale});
  Tensor* score = b.mm(b.w(il, "ffn_gate_inp_shexp.weight"), x);
  Tensor* gate = b.g.div(b.g.unary(ggml::Unary::silu, score), score);
  Tensor* shared = b.g.mul(b.ffn(il, x, {.suffix = "_shexp"}), gate);
  return b.g.add(routed, shared);
}

Tensor* rest_of_layer(GraphBuilder& b, std::int64_t il, Attended attended) {
  return add_feed_forward(b, il, attended, feed_forward);
}

void build(GraphBuilder& b) { build_decoder(b, {.rest = rest_of_layer}); }

}  // namespace
}  // namespace qwen2_moe

const Architecture kQwen2Moe{"qwen2moe", qwen2_moe::read, qwen2_moe::list, qwen2_moe::build};

}  // namespace memtape::llamacpp::arch
