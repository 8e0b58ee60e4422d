// SPDX-License-Identifier: Apache-2.0
// ernie4_5 and ernie4_5-moe, dots1: dense layers first, then routed and shared experts; dots1 with
// norms on the heads of Q and K.
#include "framework/llamacpp/arch/architectures.h"
#include "framework/llamacpp/arch/rotated_decoder.h"

namespace memtape::llamacpp::arch {
namespace {

void read(Hyperparameters&, KeyReader&) {}

void read_experts(Hyperparameters& hp, KeyReader& keys) {
  hp.ff_exp = keys.per_layer("expert_feed_forward_length", hp.n_layer_all, 0);
  hp.n_layer_dense_lead = keys.count("leading_dense_block_count", 0);
  hp.expert_weights_scale = keys.number("expert_weights_scale", 0);
  if (hp.n_expert == 0) keys.fail("expert_count", "is missing");
}

void read_moe(Hyperparameters& hp, KeyReader& keys) {
  read_experts(hp, keys);
  hp.n_ff_shexp = keys.count("expert_shared_feed_forward_length", 0);
  hp.expert_layer_step = keys.dimension("interleave_moe_layer_step");
  hp.expert_weights_norm = true;
  hp.gating = Gating::softmax;
}

void read_dots1(Hyperparameters& hp, KeyReader& keys) {
  read_experts(hp, keys);
  hp.n_ff_shexp = keys.dimension("expert_shared_count") * hp.n_ff_exp();
  hp.expert_layer_step = 1;
  hp.expert_weights_norm = keys.flag("expert_weights_norm", false);
  const std::int64_t gating = keys.count("expert_gating_func", 0);
  hp.gating = gating == 2 ? Gating::sigmoid : Gating::softmax;
  if (gating < 1 || gating > 2) keys.fail("expert_gating_func", "must be 1 or 2");
}

void list(const Hyperparameters& hp, WeightList& weights) {
  weights.token_embeddings(hp);
  weights.output(hp);
  for (std::int64_t il = 0; il < hp.n_layer(); ++il) {
    weights.add(il, "attn_norm.weight", {hp.n_embd});
    weights.qkv(il, hp.n_embd, {hp.head_k * hp.n_head(), hp.k_gqa(), hp.k_gqa()});
    weights.add(il, "attn_output.weight", {hp.head_k * hp.n_head(), hp.n_embd});
    if (hp.arch == "dots1") {
      weights.add(il, "attn_k_norm.weight", {hp.head_k});
      weights.add(il, "attn_q_norm.weight", {hp.head_k});
    }
    weights.add(il, "ffn_norm.weight", {hp.n_embd});
    if (hp.n_expert == 0 || il < hp.n_layer_dense_lead) {
      weights.gated_ffn(il, hp.n_embd, hp.n_ff());
      continue;
    }
    weights.experts(il, hp, hp.n_ff_exp());
    weights.maybe(il, "exp_probs_b.bias", {hp.n_expert}, true);
    if (hp.n_ff_shexp > 0) weights.gated_ffn(il, hp.n_embd, hp.n_ff_shexp, "_shexp");
  }
}

Tensor* feed_forward(GraphBuilder& b, std::int64_t il, Tensor* x) {
  const Hyperparameters& hp = b.hp;
  if (hp.n_expert == 0 || il < hp.n_layer_dense_lead || (il + 1) % hp.expert_layer_step != 0)
    return b.ffn(il, x, {});
  Tensor* routed = b.moe(il, x,
                         {.n_expert = hp.n_expert,
                          .n_used = hp.n_expert_used,
                          .normalize = hp.expert_weights_norm,
                          .scale = hp.expert_weights_scale,
                          .gating = hp.gating});
  return hp.n_ff_shexp > 0 ? b.g.add(routed, b.ffn(il, x, {.suffix = "_shexp"})) : routed;
}

Tensor* rest_of_layer(GraphBuilder& b, std::int64_t il, Attended attended) {
  Tensor* middle = b.g.add(attended.y, attended.residual);
  return b.g.add(feed_forward(b, il, b.rms(middle, b.w(il, "ffn_norm.weight"), il)), middle);
}

void build(GraphBuilder& b) { build_rotated_decoder(b, rest_of_layer); }

}  // namespace

const Architecture kErnie45{"ernie4_5", read, list, build};
const Architecture kErnie45Moe{"ernie4_5-moe", read_moe, list, build};
const Architecture kDots1{"dots1", read_dots1, list, build};

}  // namespace memtape::llamacpp::arch
