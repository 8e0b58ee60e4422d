// SPDX-License-Identifier: Apache-2.0
// llama4: Scout and Maverick: chunked attention that rotates in three layers of four, one routed
// expert on an input that is weighted first, and a shared one.
#include "framework/llamacpp/arch/decoder.h"

namespace memtape::llamacpp::arch {
namespace llama4 {
namespace {

constexpr std::int64_t kChunk = 8192, kUnrotatedEvery = 4;
constexpr std::int64_t kExpertsWithoutNorms = 128;  ///< Maverick norms neither Q nor K

void read(Hyperparameters& hp, KeyReader& keys) {
  hp.ff_exp = keys.per_layer("expert_feed_forward_length", hp.n_layer_all, 0);
  hp.expert_layer_step = keys.dimension("interleave_moe_layer_step");
  hp.expert_weights_scale = keys.number("expert_weights_scale", 0);
  hp.swa = keys.count("attention.sliding_window", kChunk) != 0;
  hp.no_rope_step = hp.swa ? kUnrotatedEvery : hp.n_layer();
  if (hp.swa) {
    hp.n_swa = kChunk;
    hp.read_swa_pattern(keys, kUnrotatedEvery);
  }
  if (hp.n_expert == 0) keys.fail("expert_count", "is missing");
}

void list(const Hyperparameters& hp, WeightList& weights) {
  const std::int64_t q = hp.head_k * hp.n_head();
  weights.token_embeddings(hp);
  weights.output(hp);
  for (std::int64_t il = 0; il < hp.n_layer(); ++il) {
    weights.add(il, "attn_norm.weight", {hp.n_embd});
    weights.qkv(il, hp.n_embd, {q, hp.k_gqa(), hp.v_gqa()});
    weights.add(il, "attn_output.weight", {q, hp.n_embd});
    weights.add(il, "ffn_norm.weight", {hp.n_embd});
    weights.rope_factors(hp, il);
    if (!hp.has_experts(il)) {
      weights.gated_ffn(il, hp.n_embd, hp.n_ff());
      continue;
    }
    weights.experts(il, hp, hp.n_ff_exp());
    weights.gated_ffn(il, hp.n_embd, hp.n_ff_exp(), "_shexp");
  }
}

Tensor* attended(GraphBuilder& b, const AttentionInputs& in, std::int64_t il, Tensor* x,
                 Tensor* positions, Tensor* scale) {
  const Hyperparameters& hp = b.hp;
  Qkv qkv = b.qkv(il, x, {hp.head_v, hp.n_head(), hp.n_head_kv()});
  if ((il + 1) % hp.no_rope_step != 0) {
    Tensor* factors = b.rope_factors(il);
    qkv.q = b.rope(qkv.q, positions, factors);
    qkv.k = b.rope(qkv.k, positions, factors);
    if (hp.n_expert != kExpertsWithoutNorms) {
      qkv.q = b.g.rms_norm(qkv.q);
      qkv.k = b.g.rms_norm(qkv.k);
    }
  } else {
    qkv.q = b.g.mul(qkv.q, scale);
  }
  return b.attention(in, il, qkv, b.w(il, "attn_output.weight"));
}

Tensor* feed_forward(GraphBuilder& b, std::int64_t il, Tensor* x) {
  const Hyperparameters& hp = b.hp;
  if (!b.w(il, "ffn_gate_inp.weight")) return b.ffn(il, x, {});
  Tensor* routed = b.moe(il, x,
                         {.n_expert = hp.n_expert,
                          .n_used = hp.n_expert_used,
                          .scale = hp.expert_weights_scale,
                          .gating = Gating::sigmoid,
                          .weights_first = true});
  return b.g.add(routed, b.ffn(il, x, {.suffix = "_shexp"}));
}

void build(GraphBuilder& b) {
  const Hyperparameters& hp = b.hp;
  Tensor* x = b.input_embeddings();
  Tensor* positions = b.input_positions();
  Tensor* scale = b.input_attention_scale();
  const AttentionInputs in = b.input_attention();
  Tensor* rows = b.input_output_rows();
  for (std::int64_t il = 0; il < hp.n_layer(); ++il) {
    Tensor* residual = x;
    Tensor* y = b.rms(x, b.w(il, "attn_norm.weight"), il);
    y = attended(b, in, il, y, positions, scale);
    if (b.is_last(il)) {
      y = b.g.get_rows(y, rows);
      residual = b.g.get_rows(residual, rows);
    }
    Tensor* middle = b.g.add(y, residual);
    y = feed_forward(b, il, b.rms(middle, b.w(il, "ffn_norm.weight"), il));
    x = b.g.add(y, middle);
  }
  b.head(x);
}

}  // namespace
}  // namespace llama4

const Architecture kLlama4{"llama4", llama4::read, llama4::list, llama4::build};

}  // namespace memtape::llamacpp::arch
