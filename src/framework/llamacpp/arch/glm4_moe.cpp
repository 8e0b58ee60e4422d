// SPDX-License-Identifier: Apache-2.0
// glm4moe: GLM-4.5 to 4.7: dense layers first, then routed and shared experts; the last block is a
// draft head, which is stored and not loaded.
#include "framework/llamacpp/arch/architectures.h"
#include "framework/llamacpp/arch/plain_decoder.h"

namespace memtape::llamacpp::arch {
namespace glm4_moe {
namespace {

constexpr std::int64_t kLayersWithHeadNorms = 92;  ///< GLM-4.5; its Air has none

void read(Hyperparameters& hp, KeyReader& keys) {
  hp.ff_exp = keys.per_layer("expert_feed_forward_length", hp.n_layer_all, 0);
  hp.n_expert_shared = keys.dimension("expert_shared_count");
  hp.n_layer_dense_lead = keys.count("leading_dense_block_count", 0);
  hp.expert_weights_scale = keys.number("expert_weights_scale", 0);
  hp.expert_weights_norm = keys.flag("expert_weights_norm", false);
  const std::int64_t gating = keys.count("expert_gating_func", 2);
  hp.gating = gating == 1 ? Gating::softmax : Gating::sigmoid;
  if (hp.n_expert == 0) keys.fail("expert_count", "is missing");
  const auto sections = keys.array("rope.dimension_sections");
  hp.mrope = sections.size() > 1 && sections[0] > 0 && sections[1] > 0;
}

void list_layer(const Hyperparameters& hp, std::int64_t il, WeightList& weights) {
  const bool norms = hp.n_layer() == kLayersWithHeadNorms;
  weights.add(il, "attn_norm.weight", {hp.n_embd});
  weights.qkv(il, hp.n_embd, {hp.head_k * hp.n_head(), hp.k_gqa(), hp.v_gqa()}, true);
  weights.add(il, "attn_output.weight", {hp.head_k * hp.n_head(), hp.n_embd});
  weights.maybe(il, "attn_q_norm.weight", {hp.head_k}, norms);
  weights.maybe(il, "attn_k_norm.weight", {hp.head_k}, norms);
  weights.add(il, "post_attention_norm.weight", {hp.n_embd});
  if (il < hp.n_layer_dense_lead) return weights.gated_ffn(il, hp.n_embd, hp.n_ff());
  const std::int64_t width = hp.n_ff_exp() > 0 ? hp.n_ff_exp() : hp.n_ff() / hp.n_expert_used;
  weights.add(il, "exp_probs_b.bias", {hp.n_expert});
  weights.experts(il, hp, width);
  if (hp.n_expert_shared > 0)
    weights.gated_ffn(il, hp.n_embd, width * hp.n_expert_shared, "_shexp");
}

void list(const Hyperparameters& hp, WeightList& weights) {
  weights.layers_and_drafts(hp, list_layer);
}

Tensor* rest_of_layer(GraphBuilder& b, std::int64_t il, Attended attended) {
  return add_feed_forward(b, il, attended, dense_or_experts, "post_attention_norm.weight");
}

void build(GraphBuilder& b) { build_decoder(b, {.rest = rest_of_layer}); }

}  // namespace
}  // namespace glm4_moe

const Architecture kGlm4Moe{"glm4moe", glm4_moe::read, glm4_moe::list, glm4_moe::build};

}  // namespace memtape::llamacpp::arch
