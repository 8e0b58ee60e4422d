// SPDX-License-Identifier: Apache-2.0
#include "framework/llamacpp/arch/delta_net.h"

#include <algorithm>

namespace memtape::llamacpp::arch {
namespace {

using ggml::Unary;

constexpr Bytes kDeltaFloat = 4;
constexpr std::int64_t kFullAttentionEvery = 4;
constexpr std::string_view kPaired = "qwen3next";  ///< decay and beta of a head lie together

struct Sizes {
  std::int64_t head, k_heads, v_heads, channels;
};

Sizes sizes_of(const Hyperparameters& hp) {
  const std::int64_t head = hp.ssm_state;
  return {head, hp.ssm_groups, hp.ssm_dt_rank, hp.ssm_inner + 2 * hp.ssm_groups * head};
}

Tensor* with_delta_history(GraphBuilder& b, const RecurrentInputs& in, std::int64_t il, Tensor* x) {
  const Hyperparameters& hp = b.hp;
  const std::int64_t kept = hp.ssm_conv - 1, channels = sizes_of(hp).channels;
  Tensor* all = b.r_of(il);
  Tensor* history = b.states_of(in, all, hp.n_embd_r());
  history = b.g.reshape(history, {kept, channels, b.n_seqs, 1});
  Tensor* joined = b.g.concat(history, b.g.transpose(x), 0);
  for (std::int64_t back = b.snapshots() - 1; back >= 0; --back) {
    const std::int64_t from = std::max<std::int64_t>(0, joined->ne[0] - kept - back);
    Tensor* last = b.g.view_3d(joined, {kept, channels, b.n_seqs, 1}, joined->nb[1], joined->nb[2],
                               from * kDeltaFloat);
    Tensor* to = b.g.view_2d(all, {kept * channels, b.n_seqs, 1, 1}, all->nb[1],
                             back * b.state_rows() * all->nb[1]);
    b.g.expand(b.g.cpy(last, to));
  }
  return joined;
}

struct Gates {
  Tensor *decay, *beta;
};

Gates gates_of(GraphBuilder& b, std::int64_t il, Tensor* x) {
  ggml::Graph& g = b.g;
  const std::int64_t heads = b.hp.ssm_dt_rank, tokens = b.n_seq_tokens;
  Tensor* beta = b.mm(b.w(il, "ssm_beta.weight"), x);
  beta = g.unary(Unary::sigmoid, g.reshape(beta, {1, heads, tokens, b.n_seqs}));
  Tensor* alpha = b.mm(b.w(il, "ssm_alpha.weight"), x);
  alpha = g.reshape(alpha, {heads, tokens, b.n_seqs, 1});
  alpha = g.unary(Unary::softplus, g.add(alpha, b.w(il, "ssm_dt.bias")));
  Tensor* decay = g.mul(alpha, b.w(il, "ssm_a"));
  return {g.reshape(decay, {1, heads, tokens, b.n_seqs}), beta};
}

Gates paired_gates(GraphBuilder& b, std::int64_t il, Tensor* x) {
  ggml::Graph& g = b.g;
  const Sizes s = sizes_of(b.hp);
  const std::int64_t each = s.v_heads / s.k_heads, tokens = b.n_seq_tokens;
  Tensor* both = b.mm(b.w(il, "ssm_ba.weight"), x);
  both = g.reshape(both, {2 * each, s.k_heads, tokens, b.n_seqs});
  const auto half = [&](Bytes offset) {
    return g.view(both, {.ne = {each, s.k_heads, tokens, b.n_seqs},
                         .nb1 = both->nb[1],
                         .nb2 = both->nb[2],
                         .nb3 = both->nb[3],
                         .offset = offset});
  };
  Tensor *first = half(0), *second = half(each * kDeltaFloat);
  Tensor* beta = g.unary(Unary::sigmoid, g.cont(first));
  Tensor* alpha = g.cont(second, {s.v_heads, tokens, b.n_seqs, 1});
  alpha = g.unary(Unary::softplus, g.add(alpha, b.w(il, "ssm_dt.bias")));
  Tensor* decay = g.mul(alpha, b.w(il, "ssm_a"));
  beta = g.reshape(beta, {1, s.v_heads, tokens, b.n_seqs});
  return {g.reshape(decay, {1, s.v_heads, tokens, b.n_seqs}), beta};
}

struct Mixed {
  Tensor *qkv, *z;
};

/// Q, K and V as one and what gates the output; in older files all interleaved by head.
Mixed mixed_of(GraphBuilder& b, std::int64_t il, Tensor* x) {
  ggml::Graph& g = b.g;
  const Sizes s = sizes_of(b.hp);
  const std::int64_t tokens = b.n_seq_tokens, seqs = b.n_seqs;
  Tensor* in = b.w(il, "ssm_in.weight");
  if (!in) {
    Tensor* qkv = b.mm(b.w(il, "attn_qkv.weight"), x);
    qkv = g.reshape(qkv, {qkv->ne[0], tokens, seqs, 1});
    return {qkv, b.mm(b.w(il, "attn_gate.weight"), x)};
  }
  const std::int64_t values = s.head * s.v_heads / s.k_heads;
  Tensor* all = g.reshape(b.mm(in, x), {2 * s.head + 2 * values, s.k_heads, tokens, seqs});
  const auto part = [&](std::int64_t width, std::int64_t from) {
    return g.view(all, {.ne = {width, s.k_heads, tokens, seqs},
                        .nb1 = all->nb[1],
                        .nb2 = all->nb[2],
                        .nb3 = all->nb[3],
                        .offset = from * kDeltaFloat});
  };
  Tensor* z = g.cont(part(values, 2 * s.head + values));
  const auto flat = [&](std::int64_t width, std::int64_t from) {
    return g.cont(part(width, from), {width * s.k_heads, tokens, seqs, 1});
  };
  Tensor *q = flat(s.head, 0), *k = flat(s.head, s.head), *v = flat(values, 2 * s.head);
  return {g.concat(g.concat(q, k, 0), v, 0), z};
}

/// Each head of keys for all heads of values that belong to it.
Tensor* repeated(GraphBuilder& b, Tensor* x) {
  const Sizes s = sizes_of(b.hp);
  if (b.hp.arch != kPaired || s.k_heads == s.v_heads) return x;
  const std::int64_t each = s.v_heads / s.k_heads, all = b.n_seq_tokens * b.n_seqs;
  Tensor* y = b.g.reshape(x, {s.head, 1, s.k_heads, all});
  y = b.g.repeat(y, {s.head, each, s.k_heads, all});
  return b.g.reshape(y, {s.head, s.v_heads, b.n_seq_tokens, b.n_seqs});
}

}  // namespace

Tensor* delta_net(GraphBuilder& b, std::int64_t il, const ggml::Graph::DeltaNet& net) {
  const Hyperparameters& hp = b.hp;
  ggml::Graph& g = b.g;
  const std::int64_t head = net.v->ne[0], heads = net.v->ne[1];
  const std::int64_t tokens = net.v->ne[2], seqs = net.v->ne[3];
  const std::int64_t snapshots = b.snapshots();
  Tensor* result = g.gated_delta_net(net, snapshots);
  const auto window = [&](ggml::Extents ne, std::int64_t from) {
    return g.view(result, {.ne = ne,
                           .nb1 = ne[0] * kDeltaFloat,
                           .nb2 = ne[0] * ne[1] * kDeltaFloat,
                           .nb3 = ne[0] * ne[1] * ne[2] * kDeltaFloat,
                           .offset = from * kDeltaFloat});
  };
  Tensor* output = window({head, heads, tokens, seqs}, 0);
  const std::int64_t behind = head * heads * tokens * seqs;
  Tensor* all = b.s_of(il);
  if (snapshots > 1) {
    const ggml::Extents shape{hp.n_embd_s(), seqs, std::min(tokens, snapshots), 1};
    const Bytes row = hp.n_embd_s() * kDeltaFloat;
    Tensor* from = g.view_3d(result, shape, row, row * seqs, behind * kDeltaFloat);
    g.expand(g.cpy(from, g.view_3d(all, shape, all->nb[1], b.state_rows() * all->nb[1], 0)));
    return output;
  }
  Tensor* state = window({head, head, heads, seqs}, behind);
  g.expand(g.cpy(state, g.view_2d(all, {hp.n_embd_s(), b.n_seqs, 1, 1}, all->nb[1], 0)));
  return output;
}

void read_delta_net(Hyperparameters& hp, KeyReader& keys) {
  hp.ssm_conv = keys.dimension("ssm.conv_kernel");
  hp.ssm_inner = keys.dimension("ssm.inner_size");
  hp.ssm_state = keys.dimension("ssm.state_size");
  hp.ssm_dt_rank = keys.dimension("ssm.time_step_rank");
  hp.ssm_groups = keys.dimension("ssm.group_count");
  if (hp.ssm_dt_rank % hp.ssm_groups != 0)
    keys.fail("ssm.group_count", "must divide the heads of values");
  if (hp.ssm_inner != hp.ssm_state * hp.ssm_dt_rank)
    keys.fail("ssm.inner_size", "must be the state size times the heads");
  const auto pattern = keys.array("attention.recurrent_layers");
  const std::int64_t every = keys.dimension("full_attention_interval", kFullAttentionEvery);
  for (std::int64_t il = 0; il < hp.n_layer(); ++il) {
    const auto at = static_cast<std::size_t>(il);
    hp.recurrent[at] = pattern.empty() ? (il + 1) % every != 0 : at < pattern.size() && pattern[at];
  }
}

void list_delta_net(const Hyperparameters& hp, std::int64_t il, WeightList& weights) {
  const Sizes s = sizes_of(hp);
  const std::int64_t values = s.head * s.v_heads;
  const bool one = weights.knows_stored() ? weights.is_stored(il, "ssm_in.weight")
                                          : hp.arch == kPaired && weights.choices().extra;
  if (one) {
    weights.add(il, "ssm_in.weight", {hp.n_embd, s.channels + values});
  } else {
    weights.add(il, "attn_qkv.weight", {hp.n_embd, s.channels});
    weights.add(il, "attn_gate.weight", {hp.n_embd, values});
  }
  weights.add(il, "ssm_conv1d.weight", {hp.ssm_conv, s.channels});
  weights.add(il, "ssm_dt.bias", {s.v_heads});
  weights.add(il, "ssm_a", {s.v_heads});
  if (hp.arch == kPaired) {
    weights.add(il, "ssm_ba.weight", {hp.n_embd, 2 * s.v_heads});
  } else {
    weights.add(il, "ssm_beta.weight", {hp.n_embd, s.v_heads});
    weights.add(il, "ssm_alpha.weight", {hp.n_embd, s.v_heads});
  }
  weights.add(il, "ssm_norm.weight", {s.head});
  weights.add(il, "ssm_out.weight", {values, hp.n_embd});
}

void list_gated_attention(const Hyperparameters& hp, std::int64_t il, WeightList& weights) {
  const std::int64_t q = hp.head_k * hp.n_head();
  weights.qkv(il, hp.n_embd, {2 * q, hp.k_gqa(il), hp.v_gqa(il)});
  weights.add(il, "attn_output.weight", {q, hp.n_embd});
  weights.add(il, "attn_q_norm.weight", {hp.head_k});
  weights.add(il, "attn_k_norm.weight", {hp.head_k});
}

Tensor* gated_attention(GraphBuilder& b, const AttentionInputs& in, std::int64_t il, Tensor* x,
                        Tensor* positions) {
  const Hyperparameters& hp = b.hp;
  ggml::Graph& g = b.g;
  const std::int64_t head = hp.head_v, heads = hp.n_head(), kv = hp.n_head_kv(il);
  Qkv qkv = b.qkv_flat(il, x, 2 * head * heads, head * kv, head * kv);
  const Bytes pair = 2 * head * kDeltaFloat;
  const auto half = [&, both = qkv.q](Bytes offset) {
    return g.view_3d(both, {head, heads, b.n_tokens, 1}, pair, pair * heads, offset);
  };
  qkv.q = b.rms(half(0), b.w(il, "attn_q_norm.weight"), il);
  Tensor* gate = half(head * kDeltaFloat);
  Tensor* k = g.reshape(qkv.k, {head, kv, b.n_tokens, 1});
  qkv.k = b.rms(k, b.w(il, "attn_k_norm.weight"), il);
  gate = g.cont(gate, {head * heads, b.n_tokens, 1, 1});
  qkv.v = g.reshape(qkv.v, {head, kv, b.n_tokens, 1});
  qkv.q = b.rope(qkv.q, positions);
  qkv.k = b.rope(qkv.k, positions);
  Tensor* y = b.attention(in, il, qkv, nullptr);
  y = g.mul(y, g.unary(Unary::sigmoid, gate));
  return b.mm(b.w(il, "attn_output.weight"), y);
}

Tensor* delta_net_layer(GraphBuilder& b, const RecurrentInputs& in, std::int64_t il, Tensor* x) {
  const Hyperparameters& hp = b.hp;
  ggml::Graph& g = b.g;
  const Sizes s = sizes_of(hp);
  const std::int64_t tokens = b.n_seq_tokens, seqs = b.n_seqs;
  const Mixed mixed = mixed_of(b, il, x);
  const Gates gates = hp.arch == kPaired ? paired_gates(b, il, x) : gates_of(b, il, x);
  Tensor* joined = with_delta_history(b, in, il, mixed.qkv);
  Tensor* state = b.states_of(in, b.s_of(il), hp.n_embd_s());
  state = g.reshape(state, {s.head, s.head, s.v_heads, seqs});
  Tensor* conv = g.unary(Unary::silu, g.ssm_conv(joined, b.w(il, "ssm_conv1d.weight")));
  const Bytes row = (2 * s.k_heads + s.v_heads) * s.head * kDeltaFloat;
  const auto part = [&](std::int64_t heads, std::int64_t from) {
    return g.view(conv, {.ne = {s.head, heads, tokens, seqs},
                         .nb1 = s.head * kDeltaFloat,
                         .nb2 = row,
                         .nb3 = row * tokens,
                         .offset = from * s.head * kDeltaFloat});
  };
  ggml::Graph::DeltaNet net{.q = part(s.k_heads, 0),
                            .k = part(s.k_heads, s.k_heads),
                            .v = part(s.v_heads, 2 * s.k_heads),
                            .gate = gates.decay,
                            .beta = gates.beta,
                            .state = state};
  net.q = repeated(b, g.scale(g.rms_norm(net.q)));  // to length one
  net.k = repeated(b, g.scale(g.rms_norm(net.k)));
  Tensor* y = delta_net(b, il, net);
  Tensor* shaped_z = g.reshape(mixed.z, {s.head, s.v_heads, tokens, seqs});
  y = b.rms(y, b.w(il, "ssm_norm.weight"), il);
  y = g.mul(y, g.unary(Unary::silu, shaped_z));
  y = g.reshape(y, {s.head * s.v_heads, tokens, seqs, 1});
  y = b.mm(b.w(il, "ssm_out.weight"), y);
  return g.reshape(y, {hp.n_embd, tokens * seqs, 1, 1});
}

}  // namespace memtape::llamacpp::arch
