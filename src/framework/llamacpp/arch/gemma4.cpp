// SPDX-License-Identifier: Apache-2.0
// gemma4: heads of one size in layers with a window and of another in the rest, whose values may be
// their keys; last layers without a cache of their own; in the small ones an embedding per layer,
// in one of the large ones experts beside the dense feed-forward.
#include "framework/llamacpp/arch/per_layer_inputs.h"

namespace memtape::llamacpp::arch {
namespace gemma4 {
namespace {

void read(Hyperparameters& hp, KeyReader& keys) {
  hp.swa = true;
  hp.n_swa = keys.dimension("attention.sliding_window");
  if (keys.array("attention.sliding_window_pattern").empty())
    keys.fail("attention.sliding_window_pattern", "is missing");
  hp.read_swa_pattern(keys, 0);
  const std::int64_t shared = keys.count("attention.shared_kv_layers", 0);
  if (shared > hp.n_layer() - 2) keys.fail("attention.shared_kv_layers", "leaves too few");
  hp.n_layer_kv_from_start = hp.n_layer_all - shared;
  hp.ff_exp = keys.per_layer("expert_feed_forward_length", hp.n_layer_all, 0);
  hp.n_embd_per_layer = keys.count("embedding_length_per_layer_input", 0);
  hp.head_k_swa = keys.dimension("attention.key_length_swa");
  hp.head_v_swa = keys.dimension("attention.value_length_swa");
  if (hp.head_k != hp.head_v || hp.head_k_swa != hp.head_v_swa)
    keys.fail("attention.value_length", "must be that of keys");
  hp.final_logit_softcapping = keys.number("final_logit_softcapping", 0);
  hp.usually_tied = true;
}

void list_attention(const Hyperparameters& hp, std::int64_t il, WeightList& weights) {
  const std::int64_t head = hp.k_head(il), q = head * hp.n_head(il);
  const bool own = hp.has_kv(il) || !weights.knows_stored();
  weights.add(il, "attn_q.weight", {hp.n_embd, q});
  weights.maybe(il, "attn_k.weight", {hp.n_embd, hp.k_gqa(il)}, own);
  const bool keys_as_values = weights.choices().extra && !hp.is_swa(il);
  weights.maybe(il, "attn_v.weight", {hp.n_embd, hp.v_gqa(il)}, own && !keys_as_values);
  weights.add(il, "attn_output.weight", {q, hp.n_embd});
  weights.add(il, "attn_q_norm.weight", {head});
  weights.maybe(il, "attn_k_norm.weight", {head}, own);
  weights.add(il, "post_attention_norm.weight", {hp.n_embd});
  weights.maybe(il, "layer_output_scale.weight", {1}, true);
}

void list_experts(const Hyperparameters& hp, std::int64_t il, WeightList& weights) {
  weights.add(il, "ffn_gate_inp.scale", {hp.n_embd});
  for (const char* name :
       {"pre_ffw_norm_2.weight", "post_ffw_norm_1.weight", "post_ffw_norm_2.weight"})
    weights.add(il, name, {hp.n_embd});
  weights.experts(il, hp, hp.n_ff_exp());
}

void list(const Hyperparameters& hp, WeightList& weights) {
  weights.output(hp);  // before the embeddings that it may be
  weights.token_embeddings(hp);
  if (hp.n_embd_per_layer > 0) list_per_layer_inputs(hp, weights);
  bool first = true;
  for (std::int64_t il = 0; il < hp.n_layer(); ++il) {
    weights.add(il, "attn_norm.weight", {hp.n_embd});
    list_attention(hp, il, weights);
    if (!hp.is_swa(il)) {
      weights.shared(il, "rope_freqs.weight", hp.k_head(il) / 2, first);
      first = false;
    }
    weights.add(il, "ffn_norm.weight", {hp.n_embd});
    weights.gated_ffn(il, hp.n_embd, hp.n_ff(il));
    weights.add(il, "post_ffw_norm.weight", {hp.n_embd});
    if (hp.n_expert > 0) list_experts(hp, il, weights);
    if (hp.n_embd_per_layer > 0) list_per_layer_gate(hp, il, weights);
  }
}

Tensor* attended(GraphBuilder& b, const AttentionInputs& in, std::int64_t il, Tensor* x,
                 Tensor* positions) {
  const Hyperparameters& hp = b.hp;
  const std::int64_t head = hp.k_head(il);
  Tensor* factors = hp.is_swa(il) ? nullptr : b.rope_factors(il);
  const auto heads = [&](Tensor* rows, std::int64_t count) {
    return b.g.reshape(rows, {head, count, b.n_tokens, 1});
  };
  Qkv qkv{};
  qkv.q = heads(b.mm(b.w(il, "attn_q.weight"), x), hp.n_head(il));
  qkv.q = b.rope(b.rms(qkv.q, b.w(il, "attn_q_norm.weight"), il), positions, factors);
  if (hp.has_kv(il)) {
    Tensor* k = b.mm(b.w(il, "attn_k.weight"), x);
    Tensor* own = b.w(il, "attn_v.weight");
    Tensor* v = own ? b.mm(own, x) : k;
    k = heads(k, hp.n_head_kv(il));
    v = heads(v, hp.n_head_kv(il));
    qkv.k = b.rms(k, b.w(il, "attn_k_norm.weight"), il);
    qkv.v = b.g.rms_norm(v);
    qkv.k = b.rope(qkv.k, positions, factors);
  }
  return b.attention(in, il, qkv, b.w(il, "attn_output.weight"));
}

Tensor* dense(GraphBuilder& b, std::int64_t il, Tensor* x) {
  x = b.rms(x, b.w(il, "ffn_norm.weight"), il);
  return b.ffn(il, x, {.activation = Activation::gelu});
}

Tensor* feed_forward(GraphBuilder& b, std::int64_t il, Tensor* x) {
  const Hyperparameters& hp = b.hp;
  Tensor* router = b.w(il, "ffn_gate_inp.weight");
  if (!router) return dense(b, il, x);
  Tensor* always = b.rms(dense(b, il, x), b.w(il, "post_ffw_norm_1.weight"), il);
  Tensor* routed = b.rms(x, b.w(il, "pre_ffw_norm_2.weight"), il);
  Tensor* seen = b.g.mul(b.g.scale(b.g.rms_norm(x)), b.w(il, "ffn_gate_inp.scale"));
  routed = b.moe(il, routed,
                 {.n_expert = hp.n_expert,
                  .n_used = hp.n_expert_used,
                  .activation = Activation::gelu,
                  .normalize = true,
                  .logits = b.mm(router, seen)});
  return b.g.add(always, b.rms(routed, b.w(il, "post_ffw_norm_2.weight"), il));
}

void build(GraphBuilder& b) {
  const Hyperparameters& hp = b.hp;
  Tensor* x = b.g.scale(b.input_embeddings());
  Tensor* positions = b.input_positions();
  const AttentionInputs in = b.input_attention();
  Tensor* rows = b.input_output_rows();
  Tensor* parts = hp.n_embd_per_layer > 0 ? per_layer_inputs(b, x) : nullptr;
  for (std::int64_t il = 0; il < hp.n_layer(); ++il) {
    Tensor* y = attended(b, in, il, b.rms(x, b.w(il, "attn_norm.weight"), il), positions);
    Tensor* middle = b.g.add(b.rms(y, b.w(il, "post_attention_norm.weight"), il), x);
    y = b.rms(feed_forward(b, il, middle), b.w(il, "post_ffw_norm.weight"), -1);
    x = b.g.add(y, middle);
    if (parts) x = b.g.add(x, per_layer_part(b, il, x, parts));
    if (Tensor* scale = b.w(il, "layer_output_scale.weight")) x = b.g.mul(x, scale);
  }
  b.head_for_drafts(x, rows);
}

}  // namespace
}  // namespace gemma4

const Architecture kGemma4{"gemma4", gemma4::read, gemma4::list, gemma4::build};

}  // namespace memtape::llamacpp::arch
