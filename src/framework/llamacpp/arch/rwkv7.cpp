// SPDX-License-Identifier: Apache-2.0
// rwkv7: decay, learning rate, values and gate each by a low-rank product; values of the first
// layer come again in all others.
#include <fmt/format.h>

#include "framework/llamacpp/arch/rwkv.h"

namespace memtape::llamacpp::arch {
namespace rwkv7 {
namespace {

using ggml::Unary;

constexpr std::int64_t kMixes = 6;  ///< r, w, k, v, a and g

void read(Hyperparameters& hp, KeyReader& keys) {
  read_rwkv(hp, keys);
  hp.n_lora_decay = keys.dimension("attention.decay_lora_rank");
  hp.n_lora_rate = keys.dimension("attention.iclr_lora_rank");
  hp.n_lora_value = keys.dimension("attention.value_residual_mix_lora_rank");
  hp.n_lora_gate = keys.dimension("attention.gate_lora_rank");
}

void list_parts(const Hyperparameters& hp, std::int64_t il, WeightList& weights) {
  const std::int64_t n = hp.n_embd;
  const auto low_rank = [&](std::string_view of, std::int64_t rank) {
    weights.add(il, fmt::format("time_mix_{}0.weight", of), {n});
    weights.add(il, fmt::format("time_mix_{}1.weight", of), {n, rank});
    weights.add(il, fmt::format("time_mix_{}2.weight", of), {rank, n});
  };
  low_rank("w", hp.n_lora_decay);
  low_rank("a", hp.n_lora_rate);
  low_rank("v", il == 0 ? hp.n_lora_rate : hp.n_lora_value);
  weights.add(il, "time_mix_g1.weight", {n, hp.n_lora_gate});
  weights.add(il, "time_mix_g2.weight", {hp.n_lora_gate, n});
  weights.add(il, "time_mix_lerp_fused.weight", {n, 1, 1, kMixes});
  for (const char* of : {"k_k", "k_a", "r_k"})
    weights.add(il, fmt::format("time_mix_{}.weight", of), {n});
  for (const char* of : {"key", "value", "receptance", "output"})
    weights.add(il, fmt::format("time_mix_{}.weight", of), {n, n});
  weights.add(il, "time_mix_ln.weight", {n});
  weights.add(il, "time_mix_ln.bias", {n});
  weights.add(il, "channel_mix_lerp_k.weight", {n, 1, 1});
  weights.add(il, "channel_mix_key.weight", {n, hp.n_ff()});
  weights.add(il, "channel_mix_value.weight", {hp.n_ff(), n});
}

void list(const Hyperparameters& hp, WeightList& weights) { list_rwkv(hp, weights, list_parts); }

/// Of two matrices and a bias, by letter.
Tensor* low_rank(GraphBuilder& b, std::int64_t il, std::string_view of, Tensor* x, bool bent) {
  Tensor* y = b.mm(b.w(il, fmt::format("time_mix_{}1.weight", of)), x);
  if (bent) y = b.g.unary(Unary::tanh, y);
  y = b.mm(b.w(il, fmt::format("time_mix_{}2.weight", of)), y);
  return b.g.add(y, b.w(il, fmt::format("time_mix_{}0.weight", of)));
}

Tensor* values_of(GraphBuilder& b, std::int64_t il, Tensor* x, Tensor*& first) {
  ggml::Graph& g = b.g;
  Tensor* v = b.mm(b.w(il, "time_mix_value.weight"), x);
  if (!first) return first = v;
  Tensor* share = g.unary(Unary::sigmoid, low_rank(b, il, "v", x, false));
  return g.add(v, g.mul(g.sub(first, v), share));
}

Tensor* time_mix(GraphBuilder& b, const RecurrentInputs& in, std::int64_t il, Shifted of,
                 Tensor*& first_values) {
  ggml::Graph& g = b.g;
  const Hyperparameters& hp = b.hp;
  const std::int64_t n = hp.n_embd, head = hp.wkv_head;
  Tensor* change = g.repeat(g.sub(of.before, of.x), {n, b.n_seq_tokens, b.n_seqs, kMixes});
  Tensor* all = g.add(g.mul(change, b.w(il, "time_mix_lerp_fused.weight")), of.x);
  const auto mix = [&](std::int64_t i) {
    return g.view_2d(all, {n, b.n_tokens, 1, 1}, all->nb[1], n * b.n_tokens * i * all->nb[0]);
  };
  const auto heads = [&](Tensor* x) { return g.reshape(x, {head, n / head, b.n_tokens, 1}); };
  Tensor* r = b.mm(b.w(il, "time_mix_receptance.weight"), mix(0));
  Tensor* w = g.unary(Unary::sigmoid, low_rank(b, il, "w", mix(1), true));
  w = g.unary(Unary::exp, g.scale(w));
  Tensor* k = b.mm(b.w(il, "time_mix_key.weight"), mix(2));
  Tensor* v = values_of(b, il, mix(3), first_values);
  Tensor* gate = g.unary(Unary::sigmoid, b.mm(b.w(il, "time_mix_g1.weight"), mix(5)));
  gate = b.mm(b.w(il, "time_mix_g2.weight"), gate);
  Tensor* a = g.unary(Unary::sigmoid, low_rank(b, il, "a", mix(4), false));
  Tensor* kk = g.l2_norm(heads(g.mul(k, b.w(il, "time_mix_k_k.weight"))));
  Tensor* ka = g.mul(k, b.w(il, "time_mix_k_a.weight"));
  k = heads(g.add(k, g.sub(g.mul(a, ka), ka)));
  r = heads(r);
  w = heads(w);
  v = heads(v);
  a = heads(a);
  Tensor* state = b.states_of(in, b.s_of(il), hp.n_embd_s());
  Tensor* y = without_states(
      b, il, g.rwkv_wkv7({r, w, k, v, g.unary(Unary::neg, kk), g.mul(kk, a), state}));
  y = head_norm(b, il, y);
  Tensor* bonus = g.reshape(b.w(il, "time_mix_r_k.weight"), {head, n / head, 1, 1});
  bonus = g.sum_rows(g.mul(g.mul(k, r), bonus));
  y = g.add(y, g.reshape(g.mul(v, bonus), {n, b.n_tokens, 1, 1}));
  y = b.mm(b.w(il, "time_mix_output.weight"), g.mul(y, gate));
  return g.reshape(y, {n, b.n_seq_tokens, b.n_seqs, 1});
}

Tensor* channel_mix(GraphBuilder& b, std::int64_t il, Shifted of) {
  ggml::Graph& g = b.g;
  Tensor* k = g.mul(g.sub(of.before, of.x), b.w(il, "channel_mix_lerp_k.weight"));
  k = b.mm(b.w(il, "channel_mix_key.weight"), g.add(k, of.x));
  return b.mm(b.w(il, "channel_mix_value.weight"), g.sqr(g.unary(Unary::relu, k)));
}

void build(GraphBuilder& b) { build_rwkv(b, {time_mix, channel_mix}); }

}  // namespace
}  // namespace rwkv7

const Architecture kRwkv7{"rwkv7", rwkv7::read, rwkv7::list, rwkv7::build};

}  // namespace memtape::llamacpp::arch
