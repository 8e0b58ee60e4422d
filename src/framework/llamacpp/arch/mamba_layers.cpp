// SPDX-License-Identifier: Apache-2.0
#include "framework/llamacpp/arch/mamba.h"

namespace memtape::llamacpp::arch {
namespace {

using ggml::Glu;
using ggml::Unary;

constexpr Bytes kMambaFloat = 4;

/// The convolution's state before the new columns, and its last columns kept for the next batch.
Tensor* with_mamba_history(GraphBuilder& b, const RecurrentInputs& in, std::int64_t il, Tensor* x) {
  const Hyperparameters& hp = b.hp;
  Tensor* all = b.r_of(il);
  const std::int64_t kept = hp.ssm_conv - 1, channels = x->ne[0];
  Tensor* history = b.states_of(in, all, hp.n_embd_r());
  history = b.g.reshape(history, {kept, channels, b.n_seqs, 1});
  Tensor* joined = b.g.concat(history, b.g.transpose(x), 0);
  Tensor* last = b.g.view_3d(joined, {kept, channels, b.n_seqs, 1}, joined->nb[1], joined->nb[2],
                             b.n_seq_tokens * joined->nb[0]);
  Tensor* to = hp.ssm_groups == 0
                   ? b.g.view_1d(all, kept * channels * b.n_seqs, 0)
                   : b.g.view_2d(all, {kept * channels, b.n_seqs, 1, 1}, all->nb[1], 0);
  b.g.expand(b.g.cpy(last, to));
  return joined;
}

Tensor* convolved(GraphBuilder& b, std::int64_t il, Tensor* x) {
  x = b.g.ssm_conv(x, b.w(il, "ssm_conv1d.weight"));
  return b.g.unary(Unary::silu, b.g.add(x, b.w(il, "ssm_conv1d.bias")));
}

}  // namespace

void read_mamba_sizes(Hyperparameters& hp, KeyReader& keys) {
  hp.ssm_conv = keys.dimension("ssm.conv_kernel");
  hp.ssm_inner = keys.dimension("ssm.inner_size");
  hp.ssm_state = keys.dimension("ssm.state_size");
  hp.ssm_dt_rank = keys.dimension("ssm.time_step_rank");
}

void read_mamba2_sizes(Hyperparameters& hp, KeyReader& keys) {
  read_mamba_sizes(hp, keys);
  hp.ssm_groups = keys.dimension("ssm.group_count");
  if (hp.ssm_inner % hp.ssm_dt_rank != 0 || hp.ssm_inner % hp.ssm_groups != 0)
    keys.fail("ssm.inner_size", "must be a multiple of its heads and groups");
}

void list_mamba_layer(const Hyperparameters& hp, std::int64_t il, WeightList& weights) {
  const std::int64_t inner = hp.ssm_inner, rank = hp.ssm_dt_rank;
  weights.add(il, "ssm_in.weight", {hp.n_embd, 2 * inner});
  weights.add(il, "ssm_conv1d.weight", {hp.ssm_conv, inner});
  weights.add(il, "ssm_conv1d.bias", {inner});
  weights.add(il, "ssm_x.weight", {inner, rank + 2 * hp.ssm_state});
  weights.add(il, "ssm_dt.weight", {rank, inner});
  weights.add(il, "ssm_dt.bias", {inner});
  weights.add(il, "ssm_a", {hp.ssm_state, inner});
  weights.add(il, "ssm_d", {inner});
  weights.add(il, "ssm_out.weight", {inner, hp.n_embd});
}

void list_mamba2_layer(const Hyperparameters& hp, std::int64_t il, WeightList& weights,
                       bool normed) {
  const std::int64_t inner = hp.ssm_inner, heads = hp.ssm_dt_rank;
  const std::int64_t channels = inner + 2 * hp.ssm_groups * hp.ssm_state;
  weights.add(il, "ssm_in.weight", {hp.n_embd, inner + channels + heads});
  weights.add(il, "ssm_conv1d.weight", {hp.ssm_conv, channels});
  weights.add(il, "ssm_conv1d.bias", {channels});
  weights.add(il, "ssm_dt.bias", {heads});
  weights.add(il, "ssm_a", {1, heads});
  weights.add(il, "ssm_d", {1, heads});
  weights.maybe(il, "ssm_norm.weight", {inner / hp.ssm_groups, hp.ssm_groups}, normed);
  weights.add(il, "ssm_out.weight", {inner, hp.n_embd});
}

Tensor* mamba_layer(GraphBuilder& b, const RecurrentInputs& in, std::int64_t il, Tensor* x) {
  const Hyperparameters& hp = b.hp;
  ggml::Graph& g = b.g;
  const std::int64_t inner = hp.ssm_inner, state = hp.ssm_state, rank = hp.ssm_dt_rank;
  const std::int64_t tokens = b.n_seq_tokens, seqs = b.n_seqs;
  Tensor* both = b.mm(b.w(il, "ssm_in.weight"), g.reshape(x, {x->ne[0], tokens, seqs, 1}));
  const ggml::Extents half{inner, both->ne[1], both->ne[2], 1};
  Tensor* u = g.view_3d(both, half, both->nb[1], both->nb[2], 0);
  Tensor* z = g.view_3d(both, half, both->nb[1], both->nb[2], inner * kMambaFloat);
  u = convolved(b, il, with_mamba_history(b, in, il, u));

  Tensor* db = b.mm(b.w(il, "ssm_x.weight"), u);
  Tensor* dt = g.view_3d(db, {rank, tokens, seqs, 1}, db->nb[1], db->nb[2], 0);
  const auto part = [&](std::int64_t from) {
    return g.view(db, {.ne = {state, 1, tokens, seqs},
                       .nb1 = state * db->nb[0],
                       .nb2 = db->nb[1],
                       .nb3 = db->nb[2],
                       .offset = kMambaFloat * from});
  };
  Tensor *B = part(rank), *C = part(rank + state);
  if (hp.ssm_dt_b_c_rms || b.w(il, "ssm_dt_norm.weight")) {
    dt = b.rms(dt, b.w(il, "ssm_dt_norm.weight"), il);
    B = b.rms(B, b.w(il, "ssm_b_norm.weight"), il);
    C = b.rms(C, b.w(il, "ssm_c_norm.weight"), il);
  } else {
    dt = g.cont(dt);
  }
  dt = g.add(b.mm(b.w(il, "ssm_dt.weight"), dt), b.w(il, "ssm_dt.bias"));

  Tensor* heads = g.reshape(u, {1, inner, tokens, seqs});
  Tensor* all = b.s_of(il);
  Tensor* y = b.scan_of(in, all,
                        {.states = all,
                         .scan = {.state = nullptr,
                                  .x = heads,
                                  .dt = dt,
                                  .a = b.w(il, "ssm_a"),
                                  .b = B,
                                  .c = C,
                                  .ids = nullptr},
                         .shape = {state, 1, inner, all->ne[1]}});
  g.expand(g.cpy(g.view_1d(y, state * inner * seqs, heads->nb[3] * heads->ne[3]),
                 g.view_1d(all, state * inner * seqs, 0)));
  y = g.view_3d(y, {inner, tokens, seqs, 1}, heads->nb[2], heads->nb[3], 0);
  y = g.add(y, g.mul(u, b.w(il, "ssm_d")));
  y = g.glu(Glu::swiglu, g.cont(z), y);
  y = b.mm(b.w(il, "ssm_out.weight"), y);
  return g.reshape(y, {y->ne[0], tokens * seqs, 1, 1});
}

Tensor* mamba2_layer(GraphBuilder& b, const RecurrentInputs& in, std::int64_t il, Tensor* x) {
  const Hyperparameters& hp = b.hp;
  ggml::Graph& g = b.g;
  const std::int64_t inner = hp.ssm_inner, state = hp.ssm_state, heads = hp.ssm_dt_rank;
  const std::int64_t groups = hp.ssm_groups, width = inner / heads;
  const std::int64_t tokens = b.n_seq_tokens, seqs = b.n_seqs;
  const std::int64_t channels = inner + 2 * groups * state;

  Tensor* all_in = b.mm(b.w(il, "ssm_in.weight"), x);
  all_in = g.reshape(all_in, {all_in->ne[0], tokens, seqs, 1});
  const auto block = [&](Tensor* of, ggml::Extents ne, std::int64_t from) {
    return g.view(of, {.ne = ne,
                       .nb1 = ne[0] * of->nb[0],
                       .nb2 = of->nb[1],
                       .nb3 = of->nb[2],
                       .offset = from * kMambaFloat});
  };
  Tensor* z = block(all_in, {width, heads, tokens, seqs}, 0);
  Tensor* xbc = g.view_3d(all_in, {channels, tokens, seqs, 1}, all_in->nb[1], all_in->nb[2],
                          inner * kMambaFloat);
  Tensor* dt = g.view_3d(all_in, {heads, tokens, seqs, 1}, all_in->nb[1], all_in->nb[2],
                         (inner + channels) * kMambaFloat);
  xbc = convolved(b, il, with_mamba_history(b, in, il, xbc));

  Tensor* u = block(xbc, {width, heads, tokens, seqs}, 0);
  Tensor* B = block(xbc, {state, groups, tokens, seqs}, inner);
  Tensor* C = block(xbc, {state, groups, tokens, seqs}, inner + groups * state);
  dt = g.add(g.cont(dt), b.w(il, "ssm_dt.bias"));
  Tensor* all = b.s_of(il);
  Tensor* y = b.scan_of(in, all,
                        {.states = all,
                         .scan = {.state = nullptr,
                                  .x = u,
                                  .dt = dt,
                                  .a = b.w(il, "ssm_a"),
                                  .b = B,
                                  .c = C,
                                  .ids = nullptr},
                         .shape = {state, width, heads, all->ne[1]}});
  const std::int64_t size = state * inner;
  const Bytes row = size * kMambaFloat;
  g.expand(g.cpy(g.view_3d(y, {size, seqs, 1, 1}, row, row * seqs, u->elements() * kMambaFloat),
                 g.view_3d(all, {size, seqs, 1, 1}, all->nb[1], all->ne[1] * row, 0)));
  y = g.view(y, {.ne = {width, heads, tokens, seqs},
                 .nb1 = u->nb[1],
                 .nb2 = heads * u->nb[1],
                 .nb3 = tokens * heads * u->nb[1]});
  y = g.add(y, g.mul(u, b.w(il, "ssm_d")));
  y = g.glu(Glu::swiglu, g.cont(z), y);
  if (Tensor* weight = b.w(il, "ssm_norm.weight")) {
    y = g.reshape(y, {inner / groups, groups, tokens, seqs});
    y = b.rms(y, weight, il);
  }
  y = g.reshape(y, {inner, tokens * seqs, 1, 1});
  return b.mm(b.w(il, "ssm_out.weight"), y);
}

}  // namespace memtape::llamacpp::arch
