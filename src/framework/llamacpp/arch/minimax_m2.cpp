// SPDX-License-Identifier: Apache-2.0
// minimax-m2: norms over all of Q and K, experts in every layer with a bias on their choice.
#include "framework/llamacpp/arch/normed_rows.h"

namespace memtape::llamacpp::arch {
namespace {

void read(Hyperparameters& hp, KeyReader& keys) {
  hp.ff_exp = keys.per_layer("expert_feed_forward_length", hp.n_layer_all, 0);
  const std::int64_t gating = keys.count("expert_gating_func", 0);
  hp.gating = gating == 2 ? Gating::sigmoid : gating == 1 ? Gating::softmax : Gating::none;
  if (hp.gating == Gating::none) keys.fail("expert_gating_func", "must be 1 or 2");
  if (hp.n_expert == 0) keys.fail("expert_count", "is missing");
}

void list(const Hyperparameters& hp, WeightList& weights) {
  const std::int64_t q = hp.head_k * hp.n_head();
  weights.token_embeddings(hp);
  weights.output(hp);
  for (std::int64_t il = 0; il < hp.n_layer(); ++il) {
    weights.qkv(il, hp.n_embd, {q, hp.k_gqa(), hp.k_gqa()});
    weights.add(il, "attn_output.weight", {q, hp.n_embd});
    weights.add(il, "attn_norm.weight", {hp.n_embd});
    weights.add(il, "attn_q_norm.weight", {q});
    weights.add(il, "attn_k_norm.weight", {hp.k_gqa()});
    weights.add(il, "ffn_norm.weight", {hp.n_embd});
    weights.experts(il, hp, hp.n_ff());
    weights.add(il, "exp_probs_b.bias", {hp.n_expert});
  }
}

void build(GraphBuilder& b) {
  const Hyperparameters& hp = b.hp;
  build_experts_on_normed_rows(b, {.n_expert = hp.n_expert,
                                   .n_used = hp.n_expert_used,
                                   .normalize = true,
                                   .scale = hp.expert_weights_scale,
                                   .gating = hp.gating});
}

}  // namespace

const Architecture kMinimaxM2{"minimax-m2", read, list, build};

}  // namespace memtape::llamacpp::arch
