// SPDX-License-Identifier: Apache-2.0
// plamo2: Mamba layers with heads, in turn with attention; norms before and after each part, a
// fused gate. fused gate.
#include <algorithm>

#include "framework/llamacpp/arch/architectures.h"
#include "framework/llamacpp/arch/mamba.h"

namespace memtape::llamacpp::arch {
namespace plamo2 {
namespace {

constexpr Bytes kFloat = 4;

/// The rank of the step sizes is not in the file (plamo2.cpp).
std::int64_t step_rank(const Hyperparameters& hp) {
  return std::max<std::int64_t>(64, hp.n_embd / 16);
}

void read(Hyperparameters& hp, KeyReader& keys) {
  read_mamba_sizes(hp, keys);
  hp.head_k = keys.dimension("attention.key_length");
  hp.head_v = keys.dimension("attention.value_length");
  hp.ssm_groups = keys.count("ssm.group_count", 0);
  if (hp.ssm_groups != 0) keys.fail("ssm.group_count", "must be 0");
  if (hp.ssm_inner % hp.ssm_dt_rank != 0)
    keys.fail("ssm.inner_size", "must be a multiple of its heads");
  for (std::int64_t il = 0; il < hp.n_layer(); ++il)
    hp.recurrent[static_cast<std::size_t>(il)] = hp.n_head_kv(il) == 0;
}

void list_mamba(const Hyperparameters& hp, std::int64_t il, WeightList& weights) {
  const std::int64_t inner = hp.ssm_inner, heads = hp.ssm_dt_rank, rank = step_rank(hp);
  weights.add(il, "ssm_in.weight", {hp.n_embd, 2 * inner});
  weights.add(il, "ssm_conv1d.weight", {hp.ssm_conv, inner});
  weights.add(il, "ssm_x.weight", {inner, rank + 2 * hp.ssm_state});
  weights.add(il, "ssm_dt.weight", {rank, heads});
  weights.add(il, "ssm_dt.bias", {heads});
  weights.add(il, "ssm_a", {heads});
  weights.add(il, "ssm_d", {heads});
  weights.add(il, "ssm_out.weight", {inner, hp.n_embd});
  weights.add(il, "ssm_dt_norm", {rank});
  weights.add(il, "ssm_b_norm", {hp.ssm_state});
  weights.add(il, "ssm_c_norm", {hp.ssm_state});
}

void list(const Hyperparameters& hp, WeightList& weights) {
  weights.token_embeddings(hp);
  weights.output(hp);
  for (std::int64_t il = 0; il < hp.n_layer(); ++il) {
    weights.add(il, "attn_norm.weight", {hp.n_embd});
    if (hp.is_recurrent(il)) {
      list_mamba(hp, il, weights);
    } else {
      const std::int64_t q = hp.head_k * hp.n_head(il);
      weights.qkv(il, hp.n_embd, {q, hp.k_gqa(il), hp.v_gqa(il)}, false, true);
      weights.add(il, "attn_q_norm.weight", {hp.head_k, hp.n_head(il)});
      weights.add(il, "attn_k_norm.weight", {hp.head_k, hp.n_head_kv(il)});
      weights.add(il, "attn_output.weight", {hp.head_v * hp.n_head(il), hp.n_embd});
    }
    weights.add(il, "post_attention_norm", {hp.n_embd});
    weights.add(il, "ffn_norm.weight", {hp.n_embd});
    weights.add(il, "ffn_down.weight", {hp.n_ff(), hp.n_embd});
    weights.add(il, "ffn_up.weight", {hp.n_embd, 2 * hp.n_ff()});
    weights.add(il, "post_ffw_norm", {hp.n_embd});
  }
}

Tensor* attended(GraphBuilder& b, const AttentionInputs& in, std::int64_t il, Tensor* x,
                 Tensor* positions) {
  const Hyperparameters& hp = b.hp;
  Qkv qkv = b.qkv(il, x, {hp.head_v, hp.n_head(il), hp.n_head_kv(il)});
  qkv.q = b.rms(qkv.q, b.w(il, "attn_q_norm.weight"), il);
  qkv.k = b.rms(qkv.k, b.w(il, "attn_k_norm.weight"), il);
  qkv.q = b.rope(qkv.q, positions);
  qkv.k = b.rope(qkv.k, positions);
  return b.attention(in, il, qkv, b.w(il, "attn_output.weight"));
}

/// `x` over the last tokens; what is kept of it goes back to the cache.
Tensor* convolved(GraphBuilder& b, const RecurrentInputs& in, std::int64_t il, Tensor* x) {
  ggml::Graph& g = b.g;
  const std::int64_t kept = b.hp.ssm_conv - 1, inner = b.hp.ssm_inner;
  Tensor* history = b.states_of(in, b.r_of(il), b.hp.n_embd_r());
  history = g.reshape(history, {kept, inner, b.n_seqs, 1});
  Tensor* joined = g.concat(history, g.transpose(x), 0);
  Tensor* last = g.view_3d(joined, {kept, inner, b.n_seqs, 1}, joined->nb[1], joined->nb[2],
                           b.n_seq_tokens * joined->nb[0]);
  g.expand(g.cpy(last, g.view_1d(b.r_of(il), kept * inner * b.n_seqs, 0)));
  return g.unary(ggml::Unary::silu, g.ssm_conv(joined, b.w(il, "ssm_conv1d.weight")));
}

/// The scan over `u`, by heads; the states behind it go back to the cache.
Tensor* scanned(GraphBuilder& b, const RecurrentInputs& in, std::int64_t il, Tensor* rows,
                Tensor* u) {
  ggml::Graph& g = b.g;
  const Hyperparameters& hp = b.hp;
  const std::int64_t state = hp.ssm_state, tokens = b.n_seq_tokens, seqs = b.n_seqs;
  Tensor* mixed = b.mm(b.w(il, "ssm_x.weight"), rows);
  const auto part = [&](std::int64_t width, std::int64_t from, std::string_view norm) {
    Tensor* y =
        g.view_3d(mixed, {width, tokens, seqs, 1}, mixed->nb[1], mixed->nb[2], from * kFloat);
    return b.rms(y, b.w(il, norm), il);
  };
  const auto apart = [&](Tensor* y) {
    return g.view(y, {.ne = {state, 1, tokens, seqs},
                      .nb1 = state * y->nb[0],
                      .nb2 = y->nb[1],
                      .nb3 = y->nb[2]});
  };
  Tensor* B = part(state, 0, "ssm_b_norm");
  Tensor* C = part(state, state, "ssm_c_norm");
  Tensor* dt = b.mm(b.w(il, "ssm_dt.weight"), part(step_rank(hp), 2 * state, "ssm_dt_norm"));
  Tensor* all = b.s_of(il);
  const std::int64_t heads = u->ne[1], size = hp.n_embd_s() * seqs;
  Tensor* y = b.scan_of(in, all,
                        {.states = all,
                         .scan = {.state = nullptr,
                                  .x = u,
                                  .dt = g.add(dt, b.w(il, "ssm_dt.bias")),
                                  .a = g.reshape(b.w(il, "ssm_a"), {1, heads, 1, 1}),
                                  .b = apart(B),
                                  .c = apart(C),
                                  .ids = nullptr},
                         .shape = {state, u->ne[0], heads, all->ne[1]}});
  g.expand(g.cpy(g.view_1d(y, size, u->elements() * kFloat), g.view_1d(all, size, 0)));
  return y;
}

Tensor* mamba(GraphBuilder& b, const RecurrentInputs& in, std::int64_t il, Tensor* x) {
  ggml::Graph& g = b.g;
  const Hyperparameters& hp = b.hp;
  const std::int64_t heads = hp.ssm_dt_rank, width = hp.ssm_inner / heads;
  const ggml::Extents by_head{width, heads, b.n_seq_tokens, b.n_seqs};
  Tensor* both =
      b.mm(b.w(il, "ssm_in.weight"), g.reshape(x, {x->ne[0], b.n_seq_tokens, b.n_seqs, 1}));
  both = g.permute(both, {0, 2, 1, 3});
  both = g.cont(both, {2 * width, heads, b.n_seq_tokens, b.n_seqs});
  const auto half = [&](Bytes offset) {
    return g.view(both, {.ne = by_head,
                         .nb1 = both->nb[1],
                         .nb2 = both->nb[2],
                         .nb3 = both->nb[3],
                         .offset = offset});
  };
  Tensor* rows = g.cont(half(width * kFloat), {hp.ssm_inner, b.n_seq_tokens, b.n_seqs, 1});
  Tensor* gate = half(0);
  rows = convolved(b, in, il, rows);
  const auto apart = [&](Tensor* of) {
    return g.view(of, {.ne = by_head,
                       .nb1 = width * kFloat,
                       .nb2 = hp.ssm_inner * kFloat,
                       .nb3 = hp.ssm_inner * b.n_seq_tokens * kFloat});
  };
  Tensor* u = apart(rows);
  Tensor* y = apart(scanned(b, in, il, rows, u));
  y = g.add(y, g.mul(u, g.reshape(b.w(il, "ssm_d"), {1, heads, 1, 1})));
  y = g.glu(ggml::Glu::swiglu, g.cont(gate), y);
  y = g.view_3d(y, {hp.ssm_inner, b.n_seq_tokens, b.n_seqs, 1}, y->nb[2], y->nb[3], 0);
  return g.reshape(b.mm(b.w(il, "ssm_out.weight"), y), {hp.n_embd, b.n_tokens, 1, 1});
}

void build(GraphBuilder& b) {
  Tensor* x = b.input_embeddings();
  Tensor* positions = b.input_positions();
  const RecurrentInputs states = b.input_recurrent();
  const AttentionInputs in = b.input_attention();
  Tensor* rows = b.input_output_rows();
  for (std::int64_t il = 0; il < b.hp.n_layer(); ++il) {
    Tensor* y = b.rms(x, b.w(il, "attn_norm.weight"), il);
    y = b.hp.is_recurrent(il) ? mamba(b, states, il, y) : attended(b, in, il, y, positions);
    if (b.is_last(il)) {
      y = b.g.get_rows(y, rows);
      x = b.g.get_rows(x, rows);
    }
    x = b.g.add(b.rms(y, b.w(il, "post_attention_norm"), il), x);
    y = b.ffn(il, b.rms(x, b.w(il, "ffn_norm.weight"), il),
              {.activation = Activation::swiglu_fused, .gated = false});
    x = b.g.add(b.rms(y, b.w(il, "post_ffw_norm"), il), x);
  }
  b.head(x);
}

}  // namespace
}  // namespace plamo2

const Architecture kPlamo2{"plamo2", plamo2::read, plamo2::list, plamo2::build};

}  // namespace memtape::llamacpp::arch
