// SPDX-License-Identifier: Apache-2.0
#include "family/parts/delta_rule_by_rows.h"

#include <utility>

#include "ghost/ops/copy_into.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/matmul.h"
#include "ghost/ops/padding.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/scan.h"
#include "ghost/ops/triangular.h"
#include "ghost/ops/views.h"
#include "ghost/session.h"
#include "release/transformers_changes.h"

namespace memtape::family {

using ghost::Tensor;

Tensor packed_by_head(const Tensor& x) { return x.transpose(1, 2).contiguous().to_float(); }

Tensor chunked(const Tensor& x) {
  return x.reshape({x.size(0), x.size(1), -1, kRowsChunk, x.size(-1)});
}

Tensor chunk_triangle(int diagonal) {
  return ghost::triu(ghost::ones({kRowsChunk, kRowsChunk}, DType::boolean), diagonal);
}

Tensor out_of_chunks(Tensor x, std::int64_t sequence_length, DType dtype) {
  x = x.reshape({x.size(0), x.size(1), -1, x.size(-1)});
  x = x.slice(2, 0, sequence_length);
  return x.transpose(1, 2).contiguous().to(dtype);
}

Tensor l2norm(const Tensor& x) {
  const Tensor inv_norm = ghost::rsqrt(x.mul(x).sum(-1, true).add(1e-6));
  return x.mul(inv_norm);
}

void invert_row_by_row(Tensor& attn, Tensor& row, Tensor& sub) {
  for (std::int64_t i = 1; i < kRowsChunk; ++i) {
    row = attn.slice(-2, i, i + 1).squeeze(-2).slice(-1, 0, i).clone();
    sub = attn.slice(-2, 0, i).slice(-1, 0, i).clone();
    const Tensor sum = row.add(row.unsqueeze(-1).mul(sub).sum(-2));
    ghost::copy_into(attn, attn.slice(-2, i, i + 1).squeeze(-2).slice(-1, 0, i), sum);
  }
  attn = attn.add(ghost::zeros({kRowsChunk, kRowsChunk}, attn.dtype()));  // torch.eye
}

void DeltaRuleByRows::prepare() {
  query = l2norm(query);
  key = l2norm(key);
  Tensor q = packed_by_head(query), k = packed_by_head(key), v = packed_by_head(value),
         b = packed_by_head(beta);
  g = packed_by_head(g);
  query = std::move(q);
  key = std::move(k);
  value = std::move(v);
  beta = std::move(b);
}

void DeltaRuleByRows::pad_and_chunk() {
  const std::int64_t pad_size = (kRowsChunk - query.size(2) % kRowsChunk) % kRowsChunk;
  for (Tensor* x : {&query, &key, &value, &beta, &g}) *x = ghost::pad(*x, 2, 0, pad_size);
  query = query.mul(ghost::kScale);
  v_beta = value.mul(beta.unsqueeze(-1));
  k_beta = key.mul(beta.unsqueeze(-1));
  for (Tensor* x : {&query, &key, &value, &k_beta, &v_beta}) *x = chunked(*x);
  g = g.reshape({g.size(0), g.size(1), -1, kRowsChunk});
}

/// The inverse of the chunk's triangular system, row by row in place.
void DeltaRuleByRows::solve_rows() {
  mask = chunk_triangle(1);
  g = ghost::cumsum(g, -1);
  decay_mask = ghost::tril(ghost::exp(ghost::tril(g.unsqueeze(-1).sub(g.unsqueeze(-2)))));
  attn = ghost::masked_fill(k_beta.matmul(key.transpose(-1, -2)).mul(decay_mask), mask, 0).neg();
  invert_row_by_row(attn, row, sub);
  value = attn.matmul(v_beta);
  k_cumdecay = attn.matmul(k_beta.mul(ghost::exp(g).unsqueeze(-1)));
}

/// g[:, :, i, -1, None]
Tensor DeltaRuleByRows::last_of_chunk(std::int64_t i) const {
  return g.select(2, i).select(-1, kRowsChunk - 1).unsqueeze(-1);
}

Tensor DeltaRuleByRows::scan() {
  const bool masks = !ghost::has(changes::kDeltaRuleMasksOnce);
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
    attn = q_i.matmul(k_i.transpose(-1, -2)).mul(decay_mask.select(2, i));
    if (masks) ghost::masked_fill_(attn, mask, 0);
    v_prime = k_cumdecay.select(2, i).matmul(last_recurrent_state);
    v_new = v_i.sub(v_prime);
    // Each mention of g takes its part of the whole once more.
    attn_inter = q_i.mul(ghost::exp(g.select(2, i).unsqueeze(-1))).matmul(last_recurrent_state);
    ghost::copy_into(core_attn_out, core_attn_out.select(2, i), attn_inter.add(attn.matmul(v_new)));
    Tensor kept = last_recurrent_state.mul(ghost::exp(last_of_chunk(i).unsqueeze(-1)));
    Tensor decay = last_of_chunk(i).sub(g.select(2, i));
    Tensor weighted = k_i.mul(ghost::exp(std::move(decay)).unsqueeze(-1));
    Tensor learned = std::move(weighted).transpose(-1, -2).matmul(v_new);
    last_recurrent_state = std::move(kept).add(std::move(learned));
  }
  return core_attn_out;
}

Tensor DeltaRuleByRows::run(bool keeps_state) {
  const DType initial_dtype = query.dtype();
  const std::int64_t sequence_length = query.size(1);
  prepare();
  pad_and_chunk();
  solve_rows();
  Tensor core_attn_out = scan();
  if (!keeps_state) last_recurrent_state.reset();
  return out_of_chunks(std::move(core_attn_out), sequence_length, initial_dtype);
}

}  // namespace memtape::family
