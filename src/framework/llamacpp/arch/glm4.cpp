// SPDX-License-Identifier: Apache-2.0
// glm4: GLM-4-9B and 32B: norms before and after each part, a fused gate.
#include "framework/llamacpp/arch/architectures.h"
#include "framework/llamacpp/arch/decoder.h"

namespace memtape::llamacpp::arch {
namespace glm4 {
namespace {

void read(Hyperparameters& hp, KeyReader& keys) {
  const auto sections = keys.array("rope.dimension_sections");
  hp.mrope = sections.size() > 1 && sections[0] > 0 && sections[1] > 0;
}

void list_layer(const Hyperparameters& hp, std::int64_t il, WeightList& weights) {
  const std::int64_t q = hp.head_k * hp.n_head();
  weights.add(il, "attn_norm.weight", {hp.n_embd});
  weights.qkv(il, hp.n_embd, {q, hp.k_gqa(), hp.v_gqa()});
  weights.add(il, "attn_output.weight", {q, hp.n_embd});
  weights.add(il, "post_attention_norm.weight", {hp.n_embd});
  weights.add(il, "ffn_norm.weight", {hp.n_embd});
  weights.add(il, "ffn_down.weight", {hp.n_ff(), hp.n_embd});
  weights.add(il, "ffn_up.weight", {hp.n_embd, 2 * hp.n_ff()});
  weights.add(il, "post_ffw_norm.weight", {hp.n_embd});
}

void list(const Hyperparameters& hp, WeightList& weights) {
  weights.layers_and_drafts(hp, list_layer);
}

Tensor* rest_of_layer(GraphBuilder& b, std::int64_t il, Attended attended) {
  Tensor* y = b.rms(attended.y, b.w(il, "post_attention_norm.weight"), il);
  Tensor* middle = b.g.add(y, attended.residual);
  y = b.rms(middle, b.w(il, "ffn_norm.weight"), il);
  y = b.ffn(il, y, {.activation = Activation::swiglu_fused, .gated = false});
  return b.g.add(b.rms(y, b.w(il, "post_ffw_norm.weight"), il), middle);
}

void build(GraphBuilder& b) { build_decoder(b, {.rest = rest_of_layer}); }

}  // namespace
}  // namespace glm4

const Architecture kGlm4{"glm4", glm4::read, glm4::list, glm4::build};

}  // namespace memtape::llamacpp::arch
