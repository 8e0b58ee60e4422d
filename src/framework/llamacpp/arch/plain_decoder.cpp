// SPDX-License-Identifier: Apache-2.0
#include "framework/llamacpp/arch/plain_decoder.h"

#include <fmt/format.h>

namespace memtape::llamacpp::arch {
namespace {

void list_norm(const PlainDecoder& kind, const Hyperparameters& hp, WeightList& weights,
               std::int64_t il, std::string_view name) {
  if (!kind.norm_weights) return;
  weights.add(il, fmt::format("{}.weight", name), {hp.n_embd});
  weights.maybe(il, fmt::format("{}.bias", name), {hp.n_embd}, kind.norm_bias);
}

void list_dense(const PlainDecoder& kind, const Hyperparameters& hp, WeightList& weights,
                std::int64_t il) {
  const std::int64_t ff = hp.n_ff(il);
  const std::int64_t up = kind.activation == Activation::swiglu_fused ? 2 * ff : ff;
  if (kind.gated) weights.add(il, "ffn_gate.weight", {hp.n_embd, ff});
  weights.add(il, "ffn_down.weight", {ff, hp.n_embd});
  weights.add(il, "ffn_up.weight", {hp.n_embd, up});
  if (kind.gated) weights.maybe(il, "ffn_gate.bias", {ff}, kind.ffn_bias);
  weights.maybe(il, "ffn_down.bias", {hp.n_embd}, kind.ffn_bias);
  weights.maybe(il, "ffn_up.bias", {up}, kind.ffn_bias);
}

void list_experts(const Hyperparameters& hp, WeightList& weights, std::int64_t il) {
  weights.experts(il, hp, hp.n_ff_exp(il) > 0 ? hp.n_ff_exp(il) : hp.n_ff(il));
  weights.maybe(il, "exp_probs_b.bias", {hp.n_expert}, hp.expert_bias);
  if (hp.n_ff_shexp > 0) weights.gated_ffn(il, hp.n_embd, hp.n_ff_shexp, "_shexp");
}

}  // namespace

void list_plain_layer(const PlainDecoder& kind, const Hyperparameters& hp, WeightList& weights,
                      std::int64_t il, bool dense) {
  const std::int64_t q = hp.head_k * hp.n_head(il);
  list_norm(kind, hp, weights, il, "attn_norm");
  weights.qkv(il, hp.n_embd, {q, hp.k_gqa(il), hp.v_gqa(il)}, kind.qkv_bias, kind.fused_qkv);
  weights.add(il, "attn_output.weight", {q, hp.n_embd});
  weights.maybe(il, "attn_output.bias", {hp.n_embd}, kind.output_bias);
  if (kind.head_norms || kind.row_norms) {
    weights.add(il, "attn_q_norm.weight", {kind.row_norms ? q : hp.head_k});
    weights.add(il, "attn_k_norm.weight", {kind.row_norms ? hp.k_gqa(il) : hp.head_k});
  }
  if (!kind.ffn_norm.empty()) list_norm(kind, hp, weights, il, kind.ffn_norm);
  if (kind.rope_factors) weights.rope_factors(hp, il);
  if (hp.has_experts(il) && !dense)
    list_experts(hp, weights, il);
  else
    list_dense(kind, hp, weights, il);
}

void list_plain(const PlainDecoder& kind, const Hyperparameters& hp, WeightList& weights) {
  weights.token_embeddings(hp);
  if (kind.learned_positions) weights.add(-1, "position_embd.weight", {hp.n_embd, hp.n_ctx_train});
  if (kind.token_norm) {
    weights.of_first_layer("token_embd_norm.weight", {hp.n_embd});
    weights.of_first_layer("token_embd_norm.bias", {hp.n_embd});
  }
  if (kind.norm_weights) weights.add(-1, "output_norm.weight", {hp.n_embd});
  if (!hp.embeds) weights.output_matrix(hp, kind.tied);
  if (kind.norm_weights) weights.maybe(-1, "output_norm.bias", {hp.n_embd}, kind.norm_bias);
  weights.maybe(-1, "output.bias", {hp.n_vocab}, kind.vocabulary_bias);
  for (std::int64_t il = 0; il < hp.n_layer(); ++il) list_plain_layer(kind, hp, weights, il);
}

Tensor* experts_and_shared(GraphBuilder& b, std::int64_t il, Tensor* x, Activation activation) {
  const Hyperparameters& hp = b.hp;
  Tensor* routed = b.moe(il, x,
                         {.n_expert = hp.n_expert,
                          .n_used = hp.n_expert_used,
                          .activation = activation,
                          .normalize = hp.expert_weights_norm,
                          .scale = hp.expert_weights_scale,
                          .gating = hp.gating == Gating::none ? Gating::softmax : hp.gating});
  if (!b.w(il, "ffn_up_shexp.weight")) return routed;
  const bool gated = b.w(il, "ffn_gate_shexp.weight") != nullptr;
  return b.g.add(routed,
                 b.ffn(il, x, {.activation = activation, .suffix = "_shexp", .gated = gated}));
}

Tensor* dense_or_experts(GraphBuilder& b, std::int64_t il, Tensor* x) {
  return b.hp.has_experts(il) ? experts_and_shared(b, il, x, Activation::silu) : b.ffn(il, x, {});
}

Tensor* rest_of_plain(const PlainDecoder& kind, GraphBuilder& b, std::int64_t il, Attended a) {
  const auto scaled = [&](Tensor* x) { return b.hp.residual_scale != 0 ? b.g.scale(x) : x; };
  Tensor* middle = b.g.add(scaled(a.y), a.residual);
  Tensor* y = b.norm(middle, b.w(il, fmt::format("{}.weight", kind.ffn_norm)),
                     b.w(il, fmt::format("{}.bias", kind.ffn_norm)), kind.norm, il);
  y = b.w(il, "ffn_gate_inp.weight")
          ? experts_and_shared(b, il, y, kind.activation)
          : b.ffn(il, y, {.activation = kind.activation, .gated = kind.gated});
  return kind.residual_first ? b.g.add(middle, y) : b.g.add(scaled(y), middle);
}

void build_plain(const PlainDecoder& kind, GraphBuilder& b, RestOfLayer rest) {
  build_decoder(b, {.rest = rest,
                    .norm = kind.norm,
                    .norms_rows = kind.row_norms,
                    .rotates_first = kind.rotates_first,
                    .scales_queries = kind.scales_queries});
}

}  // namespace memtape::llamacpp::arch
