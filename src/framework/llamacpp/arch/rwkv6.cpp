// SPDX-License-Identifier: Apache-2.0
// rwkv6: the mix of a token with the one before it depends on both.
#include <fmt/format.h>

#include "framework/llamacpp/arch/rwkv.h"

namespace memtape::llamacpp::arch {
namespace rwkv6 {
namespace {

using ggml::Unary;

constexpr std::int64_t kMixes = 5;  ///< w, k, v, r and g

void read(Hyperparameters& hp, KeyReader& keys) {
  read_rwkv(hp, keys);
  hp.n_lora_mix = keys.dimension("time_mix_extra_dim");
  hp.n_lora_decay = keys.dimension("time_decay_extra_dim");
  hp.rescale_every = keys.count("rescale_every_n_layers", 0);
}

void list_parts(const Hyperparameters& hp, std::int64_t il, WeightList& weights) {
  const std::int64_t n = hp.n_embd;
  weights.add(il, "time_mix_w1.weight", {n, hp.n_lora_mix * kMixes});
  weights.add(il, "time_mix_w2.weight", {hp.n_lora_mix, n, kMixes});
  weights.add(il, "time_mix_lerp_x.weight", {n, 1, 1});
  if (!weights.maybe(il, "time_mix_lerp_fused.weight", {n, 1, 1, kMixes}, true))
    for (const char* of : {"w", "k", "v", "r", "g"})
      weights.add(il, fmt::format("time_mix_lerp_{}.weight", of), {n, 1, 1});
  weights.add(il, "time_mix_first.weight", {hp.wkv_head, n / hp.wkv_head});
  weights.add(il, "time_mix_decay.weight", {n});
  weights.add(il, "time_mix_decay_w1.weight", {n, hp.n_lora_decay});
  weights.add(il, "time_mix_decay_w2.weight", {hp.n_lora_decay, n});
  for (const char* of : {"key", "value", "receptance", "gate"})
    weights.add(il, fmt::format("time_mix_{}.weight", of), {n, n});
  weights.add(il, "time_mix_ln.weight", {n});
  weights.add(il, "time_mix_ln.bias", {n});
  weights.add(il, "time_mix_output.weight", {n, n});
  weights.add(il, "channel_mix_lerp_k.weight", {n, 1, 1});
  weights.add(il, "channel_mix_lerp_r.weight", {n, 1, 1});
  weights.add(il, "channel_mix_key.weight", {n, hp.n_ff()});
  weights.add(il, "channel_mix_value.weight", {hp.n_ff(), n});
  weights.add(il, "channel_mix_receptance.weight", {n, n});
}

void list(const Hyperparameters& hp, WeightList& weights) { list_rwkv(hp, weights, list_parts); }

struct Mixes {
  Tensor *w, *k, *v, *r, *g;
};

Mixes mixes_of(GraphBuilder& b, std::int64_t il, Shifted of) {
  ggml::Graph& g = b.g;
  const std::int64_t n = b.hp.n_embd, rank = b.hp.n_lora_mix;
  Tensor* change = g.reshape(g.sub(of.before, of.x), {n, b.n_tokens, 1, 1});
  Tensor* x = g.reshape(of.x, {n, b.n_tokens, 1, 1});
  Tensor* all = g.add(g.mul(change, b.w(il, "time_mix_lerp_x.weight")), x);
  all = g.unary(Unary::tanh, b.mm(b.w(il, "time_mix_w1.weight"), all));
  all = g.reshape(all, {rank, 1, kMixes, b.n_tokens});
  all = g.cont(g.permute(all, {0, 1, 3, 2}));
  all = g.mul_mat(g.reshape(b.w(il, "time_mix_w2.weight"), {rank, n, 1, kMixes}), all);
  const auto part = [&](std::int64_t i) {
    return g.view_2d(all, {n, b.n_tokens, 1, 1}, all->nb[1], n * b.n_tokens * i * all->nb[0]);
  };
  if (Tensor* fused = b.w(il, "time_mix_lerp_fused.weight")) {
    change = g.reshape(change, {n, 1, b.n_tokens, 1});
    x = g.reshape(x, {n, 1, b.n_tokens, 1});
    all = g.add(g.mul(g.add(all, fused), change), x);
    return {part(0), part(1), part(2), part(3), part(4)};
  }
  const auto mixed = [&](std::int64_t i, std::string_view name) {
    Tensor* weight = b.w(il, fmt::format("time_mix_lerp_{}.weight", name));
    return g.add(g.mul(g.add(part(i), weight), change), x);
  };
  return {mixed(0, "w"), mixed(1, "k"), mixed(2, "v"), mixed(3, "r"), mixed(4, "g")};
}

Tensor* time_mix(GraphBuilder& b, const RecurrentInputs& in, std::int64_t il, Shifted of,
                 Tensor*&) {
  ggml::Graph& g = b.g;
  const Hyperparameters& hp = b.hp;
  const Mixes mix = mixes_of(b, il, of);
  const auto heads = [&](Tensor* x) {
    return g.reshape(x, {hp.wkv_head, hp.n_embd / hp.wkv_head, b.n_tokens, 1});
  };
  Tensor* r = heads(b.mm(b.w(il, "time_mix_receptance.weight"), mix.r));
  Tensor* k = heads(b.mm(b.w(il, "time_mix_key.weight"), mix.k));
  Tensor* v = heads(b.mm(b.w(il, "time_mix_value.weight"), mix.v));
  Tensor* gate = g.unary(Unary::silu, b.mm(b.w(il, "time_mix_gate.weight"), mix.g));
  Tensor* decay = g.unary(Unary::tanh, b.mm(b.w(il, "time_mix_decay_w1.weight"), mix.w));
  decay = g.add(b.mm(b.w(il, "time_mix_decay_w2.weight"), decay), b.w(il, "time_mix_decay.weight"));
  decay = heads(g.unary(Unary::exp, g.unary(Unary::neg, g.unary(Unary::exp, decay))));
  Tensor* state = b.states_of(in, b.s_of(il), hp.n_embd_s());
  Tensor* y =
      without_states(b, il, g.rwkv_wkv6({k, v, r, b.w(il, "time_mix_first.weight"), decay, state}));
  y = b.mm(b.w(il, "time_mix_output.weight"), g.mul(head_norm(b, il, y), gate));
  return g.reshape(y, {hp.n_embd, b.n_seq_tokens, b.n_seqs, 1});
}

Tensor* channel_mix(GraphBuilder& b, std::int64_t il, Shifted of) {
  ggml::Graph& g = b.g;
  Tensor* change = g.sub(of.before, of.x);
  Tensor* k = g.add(g.mul(change, b.w(il, "channel_mix_lerp_k.weight")), of.x);
  Tensor* r = g.add(g.mul(change, b.w(il, "channel_mix_lerp_r.weight")), of.x);
  r = g.unary(Unary::sigmoid, b.mm(b.w(il, "channel_mix_receptance.weight"), r));
  k = g.sqr(g.unary(Unary::relu, b.mm(b.w(il, "channel_mix_key.weight"), k)));
  return g.mul(r, b.mm(b.w(il, "channel_mix_value.weight"), k));
}

void build(GraphBuilder& b) { build_rwkv(b, {time_mix, channel_mix}); }

}  // namespace
}  // namespace rwkv6

const Architecture kRwkv6{"rwkv6", rwkv6::read, rwkv6::list, rwkv6::build};

}  // namespace memtape::llamacpp::arch
