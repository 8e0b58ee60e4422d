// SPDX-License-Identifier: Apache-2.0
// olmoe: experts in every layer, norms over all of Q and K.
#include "framework/llamacpp/arch/normed_rows.h"

namespace memtape::llamacpp::arch {
namespace {

void read(Hyperparameters& hp, KeyReader& keys) {
  if (hp.n_expert == 0) keys.fail("expert_count", "is missing");
}

void list(const Hyperparameters& hp, WeightList& weights) {
  weights.token_embeddings(hp);
  weights.output(hp);
  for (std::int64_t il = 0; il < hp.n_layer(); ++il) {
    weights.add(il, "attn_norm.weight", {hp.n_embd});
    weights.qkv(il, hp.n_embd, {hp.n_embd, hp.k_gqa(), hp.k_gqa()});
    weights.add(il, "attn_output.weight", {hp.n_embd, hp.n_embd});
    weights.add(il, "attn_q_norm.weight", {hp.n_embd});
    weights.add(il, "attn_k_norm.weight", {hp.n_embd});
    weights.add(il, "ffn_norm.weight", {hp.n_embd});
    weights.experts(il, hp, hp.n_ff());
  }
}

void build(GraphBuilder& b) {
  build_experts_on_normed_rows(b, {.n_expert = b.hp.n_expert, .n_used = b.hp.n_expert_used});
}

}  // namespace

const Architecture kOlmoe{"olmoe", read, list, build};

}  // namespace memtape::llamacpp::arch
