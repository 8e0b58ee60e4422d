// SPDX-License-Identifier: Apache-2.0
// qwen3 and qwen3moe: norms on the heads of Q and K; the latter with experts.
#include "framework/llamacpp/arch/architectures.h"
#include "framework/llamacpp/arch/rotated_decoder.h"

namespace memtape::llamacpp::arch {
namespace {

void read(Hyperparameters&, KeyReader&) {}

void read_moe(Hyperparameters& hp, KeyReader& keys) {
  hp.ff_exp = keys.per_layer("expert_feed_forward_length", hp.n_layer_all, 0);
  hp.expert_weights_scale = keys.number("expert_weights_scale", 0);
  if (hp.n_expert == 0) keys.fail("expert_count", "is missing");
}

std::int64_t width_of_experts(const Hyperparameters& hp) {
  return hp.n_ff_exp() > 0 ? hp.n_ff_exp() : hp.n_ff() / hp.n_expert_used;
}

void list(const Hyperparameters& hp, WeightList& weights) {
  weights.token_embeddings(hp);
  weights.output(hp);
  for (std::int64_t il = 0; il < hp.n_layer(); ++il) {
    weights.add(il, "attn_norm.weight", {hp.n_embd});
    weights.qkv(il, hp.n_embd, {hp.head_k * hp.n_head(), hp.k_gqa(), hp.k_gqa()});
    weights.add(il, "attn_output.weight", {hp.head_k * hp.n_head(), hp.n_embd});
    weights.add(il, "attn_k_norm.weight", {hp.head_k});
    weights.add(il, "attn_q_norm.weight", {hp.head_k});
    weights.add(il, "ffn_norm.weight", {hp.n_embd});
    if (hp.arch == "qwen3moe")
      weights.experts(il, hp, width_of_experts(hp));
    else
      weights.gated_ffn(il, hp.n_embd, hp.n_ff());
  }
}

Tensor* feed_forward(GraphBuilder& b, std::int64_t il, Tensor* x) {
  if (b.hp.arch != "qwen3moe") return b.ffn(il, x, {});
  return b.moe(il, x,
               {.n_expert = b.hp.n_expert,
                .n_used = b.hp.n_expert_used,
                .normalize = true,
                .scale = b.hp.expert_weights_scale});
}

Tensor* rest_of_layer(GraphBuilder& b, std::int64_t il, Attended attended) {
  Tensor* middle = b.g.add(attended.y, attended.residual);
  return b.g.add(feed_forward(b, il, b.rms(middle, b.w(il, "ffn_norm.weight"), il)), middle);
}

void build(GraphBuilder& b) { build_rotated_decoder(b, rest_of_layer); }

}  // namespace

const Architecture kQwen3{"qwen3", read, list, build};
const Architecture kQwen3Moe{"qwen3moe", read_moe, list, build};

}  // namespace memtape::llamacpp::arch
