// SPDX-License-Identifier: Apache-2.0
#include "framework/llamacpp/arch/rwkv.h"

namespace memtape::llamacpp::arch {
namespace {

constexpr Bytes kRwkvFloat = 4;
constexpr std::int64_t kShifts = 2;  ///< of each part one

/// The rows of a batch, each one token later; the first comes from the cache.
Tensor* one_before(GraphBuilder& b, Tensor* x, Tensor* shift, std::int64_t part) {
  ggml::Graph& g = b.g;
  const std::int64_t n = b.hp.n_embd;
  Tensor* first =
      g.view_3d(shift, {n, 1, b.n_seqs, 1}, shift->nb[1], shift->nb[2], part * n * kRwkvFloat);
  if (b.n_seq_tokens == 1) return first;
  return g.concat(first, g.view_3d(x, {n, b.n_seq_tokens - 1, b.n_seqs, 1}, x->nb[1], x->nb[2], 0),
                  1);
}

Tensor* last_of(GraphBuilder& b, Tensor* x) {
  return b.g.view_3d(x, {b.hp.n_embd, 1, b.n_seqs, 1}, x->nb[1], x->nb[2],
                     (b.n_seq_tokens - 1) * b.hp.n_embd * kRwkvFloat);
}

void keep_last(GraphBuilder& b, std::int64_t il, Tensor* attended, Tensor* fed) {
  Tensor* last = b.g.concat(last_of(b, attended), last_of(b, fed), 1);
  const std::int64_t n = b.hp.n_embd_r() * b.n_seqs;
  b.g.expand(b.g.cpy(b.g.view_1d(last, n, 0), b.g.view_1d(b.r_of(il), n, 0)));
}

Tensor* normed(GraphBuilder& b, std::int64_t il, Tensor* x, bool second) {
  return b.norm(x, b.w(il, second ? "attn_norm_2.weight" : "attn_norm.weight"),
                b.w(il, second ? "attn_norm_2.bias" : "attn_norm.bias"), Norm::layer, il);
}

}  // namespace

void read_rwkv(Hyperparameters& hp, KeyReader& keys) {
  hp.wkv_head = keys.dimension("wkv.head_size");
  hp.token_shifts = keys.dimension("token_shift_count", kShifts);
  if (hp.token_shifts != kShifts) keys.fail("token_shift_count", "must be 2");
  if (hp.n_embd % hp.wkv_head != 0) keys.fail("wkv.head_size", "must divide the embeddings");
  hp.recurrent.assign(hp.recurrent.size(), true);
}

void list_rwkv(const Hyperparameters& hp, WeightList& weights,
               void (*parts)(const Hyperparameters&, std::int64_t, WeightList&)) {
  weights.token_embeddings(hp);
  weights.of_first_layer("token_embd_norm.weight", {hp.n_embd});
  weights.of_first_layer("token_embd_norm.bias", {hp.n_embd});
  weights.output(hp);
  weights.add(-1, "output_norm.bias", {hp.n_embd});
  for (std::int64_t il = 0; il < hp.n_layer(); ++il) {
    for (const char* name :
         {"attn_norm.weight", "attn_norm.bias", "attn_norm_2.weight", "attn_norm_2.bias"})
      weights.add(il, name, {hp.n_embd});
    parts(hp, il, weights);
  }
}

Tensor* without_states(GraphBuilder& b, std::int64_t il, Tensor* recurrence) {
  const std::int64_t output = b.hp.n_embd * b.n_tokens, states = b.hp.n_embd_s() * b.n_seqs;
  Tensor* y = b.g.view_1d(recurrence, output, 0);
  Tensor* state = b.g.view_1d(recurrence, states, output * kRwkvFloat);
  b.g.expand(b.g.cpy(state, b.g.view_1d(b.s_of(il), states, 0)));
  return y;
}

Tensor* head_norm(GraphBuilder& b, std::int64_t il, Tensor* x) {
  const std::int64_t head = b.hp.wkv_head;
  x = b.g.norm(b.g.reshape(x, {head, b.hp.n_embd / head, b.n_tokens, 1}));
  x = b.g.reshape(x, {b.hp.n_embd, b.n_tokens, 1, 1});
  return b.g.add(b.g.mul(x, b.w(il, "time_mix_ln.weight")), b.w(il, "time_mix_ln.bias"));
}

void build_rwkv(GraphBuilder& b, const RwkvParts& parts) {
  ggml::Graph& g = b.g;
  const Hyperparameters& hp = b.hp;
  Tensor* x = b.input_embeddings();
  x = b.norm(x, b.w("token_embd_norm.weight"), b.w("token_embd_norm.bias"), Norm::layer, 0);
  const RecurrentInputs in = b.input_recurrent();
  Tensor* rows = b.input_output_rows();
  Tensor* first_values = nullptr;
  for (std::int64_t il = 0; il < hp.n_layer(); ++il) {
    x = g.reshape(x, {hp.n_embd, b.n_seq_tokens, b.n_seqs, 1});
    Tensor* shift = b.states_of(in, b.r_of(il), hp.n_embd_r());
    shift = g.reshape(shift, {hp.n_embd, kShifts, b.n_seqs, 1});
    Tensor* attended = normed(b, il, x, false);
    Tensor* before = one_before(b, attended, shift, 0);
    Tensor* middle = g.add(parts.time_mix(b, in, il, {attended, before}, first_values), x);
    Tensor* fed = normed(b, il, middle, true);
    before = one_before(b, fed, shift, 1);
    keep_last(b, il, attended, fed);
    for (Tensor** of : {&middle, &fed, &before}) {
      *of = g.reshape(*of, {hp.n_embd, b.n_tokens, 1, 1});
      if (b.is_last(il)) *of = g.get_rows(*of, rows);
    }
    x = g.add(parts.channel_mix(b, il, {fed, before}), middle);
    if (hp.rescale_every > 0 && (il + 1) % hp.rescale_every == 0) x = g.scale(x);
  }
  b.head(x, Norm::layer);
}

}  // namespace memtape::llamacpp::arch
