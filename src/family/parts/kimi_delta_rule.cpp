// SPDX-License-Identifier: Apache-2.0
#include "family/parts/kimi_delta_rule.h"

#include <utility>

#include "family/parts/delta_rule_by_rows.h"
#include "ghost/ops/copy_into.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/matmul.h"
#include "ghost/ops/padding.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/scan.h"
#include "ghost/ops/views.h"

namespace memtape::family {
namespace {

using ghost::Tensor;

/// l2norm, by a square root and a division.
Tensor divided_by_norm(const Tensor& x) {
  const Tensor inv_norm = ghost::sqrt(x.mul(x).sum(-1, true).add(1e-6));
  return x.div(inv_norm);
}

Tensor products_of_pairs(const Tensor& a, const Tensor& b) {
  return a.unsqueeze(-2).mul(b.unsqueeze(-3));
}

/// (products * decays).sum(-1).masked_fill(mask, 0)
Tensor decayed(Tensor products, const Tensor& decays, const Tensor& mask) {
  products = products.mul(decays);
  return ghost::masked_fill(products.sum(-1), mask, 0);
}

}  // namespace

void KimiDeltaRule::prepare() {
  Tensor q = packed_by_head(query), k = packed_by_head(key), v = packed_by_head(value),
         b = packed_by_head(beta);
  g = packed_by_head(g);
  query = std::move(q);
  key = std::move(k);
  value = std::move(v);
  beta = std::move(b);
  query = divided_by_norm(query);
  key = divided_by_norm(key);
}

void KimiDeltaRule::pad_and_chunk() {
  const std::int64_t pad_size = (kRowsChunk - query.size(2) % kRowsChunk) % kRowsChunk;
  query = ghost::pad(query, 2, 0, pad_size).mul(ghost::kScale);
  for (Tensor* x : {&key, &value, &g, &beta}) *x = ghost::pad(*x, 2, 0, pad_size);
  v_beta = value.mul(beta.unsqueeze(-1));
  k_beta = key.mul(beta.unsqueeze(-1));
  for (Tensor* x : {&query, &key, &value, &g, &k_beta, &v_beta}) *x = chunked(*x);
}

void KimiDeltaRule::solve_rows() {
  g = ghost::cumsum(g, -2);
  mask = chunk_triangle(0);
  strict_mask = chunk_triangle(1);
  Tensor differences = g.unsqueeze(-2).sub(g.unsqueeze(-3));
  decay_mask = ghost::exp(
      ghost::masked_fill(std::move(differences), strict_mask.unsqueeze(-1), ghost::kLowest));
  attn = decayed(products_of_pairs(k_beta, key), decay_mask, mask).neg();
  invert_row_by_row(attn, row, sub);
  value = attn.matmul(v_beta);
  k_cumdecay = attn.matmul(k_beta.mul(ghost::exp(g)));
}

Tensor KimiDeltaRule::scan() {
  last_recurrent_state =
      last_recurrent_state.defined()
          ? last_recurrent_state.to(value.dtype())
          : ghost::zeros({key.size(0), key.size(1), key.size(-1), value.size(-1)}, value.dtype());
  Tensor core_attn_out = ghost::zeros_like(value);
  mask = chunk_triangle(1);
  const std::int64_t num_chunks = query.size(2);
  for (std::int64_t i = 0; i < num_chunks; ++i) {
    q_i = query.select(2, i);
    k_i = key.select(2, i);
    v_i = value.select(2, i);
    g_i = g.select(2, i);
    attn_inter = q_i.mul(ghost::exp(g_i)).matmul(last_recurrent_state);
    Tensor products = products_of_pairs(q_i, k_i);
    const Tensor decays = decay_mask.select(2, i);  // later than the products: first in backward
    attn_intra = decayed(std::move(products), decays, mask);
    v_prime = k_cumdecay.select(2, i).matmul(last_recurrent_state);
    v_new = v_i.sub(v_prime);
    ghost::copy_into(core_attn_out, core_attn_out.select(2, i),
                     attn_inter.add(attn_intra.matmul(v_new)));
    Tensor kept = last_recurrent_state.mul(ghost::exp(g_i.select(2, kRowsChunk - 1)).unsqueeze(-1));
    Tensor decay = g_i.slice(2, kRowsChunk - 1, kRowsChunk).sub(g_i);
    Tensor learned = k_i.mul(ghost::exp(std::move(decay))).transpose(-1, -2).matmul(v_new);
    last_recurrent_state = std::move(kept).add(std::move(learned));
  }
  return core_attn_out;
}

Tensor KimiDeltaRule::run(bool keeps_state) {
  const DType initial_dtype = query.dtype();
  const std::int64_t sequence_length = query.size(1);
  prepare();
  pad_and_chunk();
  solve_rows();
  Tensor core_attn_out = scan();
  if (!keeps_state) last_recurrent_state.reset();
  return out_of_chunks(std::move(core_attn_out), sequence_length, initial_dtype);
}

Tensor KimiDeltaRule::run_step() {
  const DType initial_dtype = query.dtype();
  Tensor q = query.to_float(), k = key.to_float(), v = value.to_float(), decay = g.to_float();
  beta = beta.to_float();
  query = divided_by_norm(q);
  key = divided_by_norm(k);
  query = query.mul(ghost::kScale);
  const Tensor core_attn_out = ghost::zeros(v.sizes(), v.dtype());
  last_recurrent_state = last_recurrent_state.to(v.dtype());
  g_i = ghost::exp(decay.select(1, 0).unsqueeze(-1));
  last_recurrent_state = last_recurrent_state.mul(g_i);
  k_i = key.select(1, 0);
  const Tensor kv_mem = last_recurrent_state.mul(k_i.unsqueeze(-1)).sum(-2);
  const Tensor delta = v.select(1, 0).sub(kv_mem).mul(beta.select(1, 0).unsqueeze(-1));
  last_recurrent_state = last_recurrent_state.add(k_i.unsqueeze(-1).mul(delta.unsqueeze(-2)));
  {
    const Tensor attended = last_recurrent_state.mul(query.select(1, 0).unsqueeze(-1)).sum(-2);
  }
  return core_attn_out.to(initial_dtype);
}

}  // namespace memtape::family
