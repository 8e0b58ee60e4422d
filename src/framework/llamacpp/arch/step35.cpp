// SPDX-License-Identifier: Apache-2.0
// step35 and mimo2: Step 3.5 Flash and MiMo V2 Flash: layers with and without a window, whose heads
// differ in number, dense layers first, then experts. Step gates what each head gives and has
// shared experts; MiMo has attention sinks and values of a width of their own.
#include "framework/llamacpp/arch/plain_decoder.h"

namespace memtape::llamacpp::arch {
namespace step35 {
namespace {

void read_windows(Hyperparameters& hp, KeyReader& keys) {
  hp.ff_exp = keys.per_layer("expert_feed_forward_length", hp.n_layer_all, 0);
  hp.n_layer_dense_lead = keys.count("leading_dense_block_count", 0);
  hp.expert_weights_scale = keys.number("expert_weights_scale", 0);
  hp.n_swa = keys.dimension("attention.sliding_window");
  hp.swa = true;
  hp.read_swa_pattern(keys, 0);
  if (keys.array("attention.sliding_window_pattern").empty())
    keys.fail("attention.sliding_window_pattern", "is missing");
  if (hp.n_expert == 0) keys.fail("expert_count", "is missing");
}

void read(Hyperparameters& hp, KeyReader& keys) {
  read_windows(hp, keys);
  hp.n_ff_shexp = keys.count("expert_shared_feed_forward_length", 0);
  hp.gating = keys.count("expert_gating_func", 2) == 1 ? Gating::softmax : Gating::sigmoid;
  hp.expert_weights_norm = keys.flag("expert_weights_norm", false);
}

void read_mimo(Hyperparameters& hp, KeyReader& keys) {
  read_windows(hp, keys);
  hp.gating = Gating::sigmoid;
  hp.expert_weights_norm = true;
  const double scale = keys.number("attention.value_scale", 0);
  if (scale != 1) hp.attn_value_scale = scale;
}

void list_layer(const Hyperparameters& hp, std::int64_t il, WeightList& weights) {
  const bool mimo = hp.arch == "mimo2";
  const std::int64_t heads = hp.n_head(il);
  weights.add(il, "attn_norm.weight", {hp.n_embd});
  weights.qkv(il, hp.n_embd, {hp.head_k * heads, hp.k_gqa(il), hp.v_gqa(il)});
  weights.add(il, "attn_output.weight", {hp.head_v * heads, hp.n_embd});
  if (mimo) {
    weights.maybe(il, "attn_sinks.weight", {heads}, hp.is_swa(il));
  } else {
    weights.maybe(il, "attn_q_norm.weight", {hp.head_k}, true);
    weights.maybe(il, "attn_k_norm.weight", {hp.head_k}, true);
    weights.maybe(il, "attn_gate.weight", {hp.n_embd, heads}, true);
    weights.rope_factors(hp, il);
  }
  weights.add(il, "ffn_norm.weight", {hp.n_embd});
  const bool has_router = weights.is_stored(il, "ffn_gate_inp.weight");
  if (!(weights.knows_stored() ? has_router : hp.has_experts(il)))
    return weights.gated_ffn(il, hp.n_embd, hp.n_ff());
  weights.experts(il, hp, hp.n_ff_exp());
  weights.maybe(il, "exp_probs_b.bias", {hp.n_expert}, true);
  if (hp.n_ff_shexp > 0) weights.gated_ffn(il, hp.n_embd, hp.n_ff_shexp, "_shexp");
}

void list(const Hyperparameters& hp, WeightList& weights) {
  weights.layers_and_drafts(hp, list_layer);
}

Tensor* feed_forward(GraphBuilder& b, std::int64_t il, Tensor* x) {
  return b.w(il, "ffn_gate_inp.weight") ? experts_and_shared(b, il, x, Activation::silu)
                                        : b.ffn(il, x, {});
}

/// Each head's result times a number of its own.
Tensor* gated_heads(GraphBuilder& b, std::int64_t il, Tensor* y, Tensor* x) {
  Tensor* weight = b.w(il, "attn_gate.weight");
  if (!weight) return y;
  const Hyperparameters& hp = b.hp;
  const std::int64_t heads = hp.n_head(il);
  Tensor* gate = b.g.unary(ggml::Unary::sigmoid, b.mm(weight, x));
  y = b.g.reshape(y, {hp.head_v, heads, b.n_tokens, 1});
  y = b.g.mul(y, b.g.reshape(gate, {1, heads, b.n_tokens, 1}));
  return b.g.reshape(y, {hp.head_v * heads, b.n_tokens, 1, 1});
}

Tensor* attended(GraphBuilder& b, const AttentionInputs& in, std::int64_t il, Tensor* x,
                 Tensor* positions) {
  const Hyperparameters& hp = b.hp;
  Qkv qkv = b.qkv(il, x, {hp.head_k, hp.n_head(il), hp.n_head_kv(il)});
  if (Tensor* weight = b.w(il, "attn_q_norm.weight")) qkv.q = b.rms(qkv.q, weight, il);
  if (Tensor* weight = b.w(il, "attn_k_norm.weight")) qkv.k = b.rms(qkv.k, weight, il);
  Tensor* factors = hp.is_swa(il) ? nullptr : b.rope_factors(il);
  qkv.q = b.rope(qkv.q, positions, factors);
  qkv.k = b.rope(qkv.k, positions, factors);
  Tensor* y = gated_heads(b, il, b.attention(in, il, qkv, nullptr), x);
  return b.mm(b.w(il, "attn_output.weight"), y);
}

/// All rows go through the last layer: draft heads read them.
void build(GraphBuilder& b) {
  Tensor* x = b.input_embeddings();
  Tensor* positions = b.input_positions();
  const AttentionInputs in = b.input_attention();
  Tensor* rows = b.input_output_rows();
  for (std::int64_t il = 0; il < b.hp.n_layer(); ++il) {
    Tensor* y = attended(b, in, il, b.rms(x, b.w(il, "attn_norm.weight"), il), positions);
    x = add_feed_forward(b, il, {.y = y, .residual = x, .normed = nullptr}, feed_forward);
  }
  b.set_output(x);
  b.head(b.g.get_rows(x, rows));
}

/// K's heads are as wide as Q's, V's have a width of their own; biases are not read.
Qkv qkv_of_mimo(GraphBuilder& b, std::int64_t il, Tensor* x) {
  const Hyperparameters& hp = b.hp;
  const std::int64_t k = hp.head_k, v = hp.head_v, heads = hp.n_head(il), kv = hp.n_head_kv(il);
  Tensor* weight = b.w(il, "attn_qkv.weight");
  if (!weight) {
    Tensor* q = b.mm(b.w(il, "attn_q.weight"), x);
    Tensor* keys = b.mm(b.w(il, "attn_k.weight"), x);
    Tensor* values = b.mm(b.w(il, "attn_v.weight"), x);
    return {b.g.reshape(q, {k, heads, b.n_tokens, 1}), b.g.reshape(keys, {k, kv, b.n_tokens, 1}),
            b.g.reshape(values, {v, kv, b.n_tokens, 1})};
  }
  Tensor* y = b.mm(weight, x);
  const auto part = [&](std::int64_t width, std::int64_t count, std::int64_t from) {
    return b.g.view_3d(y, {width, count, b.n_tokens, 1}, ggml::row_size(y->type, width), y->nb[1],
                       ggml::row_size(y->type, from));
  };
  return {part(k, heads, 0), part(k, kv, k * heads), part(v, kv, k * (heads + kv))};
}

void build_mimo(GraphBuilder& b) {
  Tensor* x = b.input_embeddings();
  Tensor* positions = b.input_positions();
  const AttentionInputs in = b.input_attention();
  Tensor* rows = b.input_output_rows();
  for (std::int64_t il = 0; il < b.hp.n_layer(); ++il) {
    Qkv qkv = qkv_of_mimo(b, il, b.rms(x, b.w(il, "attn_norm.weight"), il));
    qkv.q = b.rope(qkv.q, positions);
    qkv.k = b.rope(qkv.k, positions);
    Tensor* y = b.attention(in, il, qkv, b.w(il, "attn_output.weight"),
                            {.sinks = b.w(il, "attn_sinks.weight")});
    if (b.hp.attn_value_scale != 0) y = b.g.scale(y);
    x = finish_layer(b, il, y, x, rows, feed_forward);
  }
  b.head(x);
}

}  // namespace
}  // namespace step35

const Architecture kStep35{"step35", step35::read, step35::list, step35::build};
const Architecture kMimo2{"mimo2", step35::read_mimo, step35::list, step35::build_mimo};

}  // namespace memtape::llamacpp::arch
