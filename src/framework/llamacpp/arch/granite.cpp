// SPDX-License-Identifier: Apache-2.0
// granite and granitemoe: as llama, with scaled embeddings, residuals and logits.
#include "framework/llamacpp/arch/architectures.h"

namespace memtape::llamacpp::arch {
namespace {

void read(Hyperparameters& hp, KeyReader& keys) {
  hp.logit_scale = 1;  // always scaled
  hp.residual_scale = keys.number("residual_scale", 0);
  hp.embedding_scale = keys.number("embedding_scale", 0);
  hp.n_ff_shexp = keys.count("expert_shared_feed_forward_length", 0);
  hp.expert_weights_scale = keys.number("expert_weights_scale", 0);
  hp.usually_tied = true;
  if (!keys.flag("rope.scaling.finetuned", true)) hp.no_rope_step = 1;
}

void list(const Hyperparameters& hp, WeightList& weights) {
  weights.token_embeddings(hp);
  weights.output(hp);
  for (std::int64_t il = 0; il < hp.n_layer(); ++il) {
    weights.add(il, "attn_norm.weight", {hp.n_embd});
    weights.qkv(il, hp.n_embd, {hp.head_k * hp.n_head(), hp.k_gqa(), hp.v_gqa()});
    weights.add(il, "attn_output.weight", {hp.head_k * hp.n_head(), hp.n_embd});
    weights.maybe(il, "attn_output.bias", {hp.n_embd}, false);
    weights.add(il, "ffn_norm.weight", {hp.n_embd});
    weights.rope_factors(hp, il);
    if (hp.n_expert == 0) {
      weights.gated_ffn(il, hp.n_embd, hp.n_ff());
      continue;
    }
    weights.experts(il, hp, hp.n_ff());
    if (hp.n_ff_shexp > 0) weights.gated_ffn(il, hp.n_embd, hp.n_ff_shexp, "_shexp");
  }
}

Tensor* feed_forward(GraphBuilder& b, std::int64_t il, Tensor* x) {
  const Hyperparameters& hp = b.hp;
  if (hp.n_expert == 0) return b.ffn(il, x, {});
  Tensor* routed = b.moe(il, x,
                         {.n_expert = hp.n_expert,
                          .n_used = hp.n_expert_used,
                          .normalize = true,
                          .scale = hp.expert_weights_scale});
  return hp.n_ff_shexp > 0 ? b.g.add(routed, b.ffn(il, x, {.suffix = "_shexp"})) : routed;
}

void build(GraphBuilder& b) {
  const Hyperparameters& hp = b.hp;
  const auto scaled = [&](Tensor* x) { return hp.residual_scale != 0 ? b.g.scale(x) : x; };
  Tensor* x = b.input_embeddings();
  Tensor* positions = hp.no_rope_step == 0 ? b.input_positions() : nullptr;
  const AttentionInputs in = b.input_attention();
  Tensor* rows = b.input_output_rows();
  for (std::int64_t il = 0; il < hp.n_layer(); ++il) {
    Tensor* residual = x;
    Tensor* y = b.rms(x, b.w(il, "attn_norm.weight"), il);
    Qkv qkv = b.qkv(il, y, {hp.head_v, hp.n_head(), hp.n_head_kv()});
    if (positions) {
      Tensor* factors = b.rope_factors(il);
      qkv.q = b.rope(qkv.q, positions, factors);
      qkv.k = b.rope(qkv.k, positions, factors);
    }
    y = b.attention(in, il, qkv, b.w(il, "attn_output.weight"),
                    {.wo_bias = b.w(il, "attn_output.bias")});
    if (b.is_last(il)) {
      y = b.g.get_rows(y, rows);
      residual = b.g.get_rows(residual, rows);
    }
    Tensor* middle = b.g.add(scaled(y), residual);
    y = feed_forward(b, il, b.rms(middle, b.w(il, "ffn_norm.weight"), il));
    x = b.g.add(scaled(y), middle);
  }
  b.head(x);
}

}  // namespace

const Architecture kGranite{"granite", read, list, build};
const Architecture kGraniteMoe{"granitemoe", read, list, build};

}  // namespace memtape::llamacpp::arch
