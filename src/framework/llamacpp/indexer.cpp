// SPDX-License-Identifier: Apache-2.0
// What DeepSeek's sparse attention has beside attention (llama-graph.cpp, build_attn_inp_k_dsa and
// the build_attn that takes top_k; llama-kv-cache-dsa.cpp): a cache of keys to choose by, and a
// mask that leaves the chosen cells.
#include "framework/llamacpp/graph_builder.h"

namespace memtape::llamacpp {

using ggml::Type;

/// The fused op takes a mask in half precision, whatever attention takes.
CacheInputs GraphBuilder::input_indexer(bool fused) {
  const CachePlan& plan = job_.caches;
  CacheInputs in;
  in.cache = &plan.indexer;
  in.k_rows = g.input(Type::i64, {n_tokens, 1, 1, 1});
  in.mask = g.input(fused ? Type::f16 : Type::f32,
                    {plan.indexer.cells, n_tokens / plan.streams, 1, plan.streams});
  const std::int64_t rows = plan.indexer.rotation_k;
  in.k_rotation = g.input(Type::f32, {rows, rows, 1, 1});
  return in;
}

Tensor* GraphBuilder::indexer_keys(const CacheInputs& in, std::int64_t il, Tensor* k) {
  const int at = in.cache->index_of[static_cast<std::size_t>(il)];
  Tensor* cache = indexer_[static_cast<std::size_t>(at)].k;
  Tensor* rows = g.view_2d(k, {k->ne[0] * k->ne[1], k->ne[2], 1, 1}, k->nb[2], 0);
  Tensor* all = cache;
  if (all->ne[2] > 1) all = g.reshape(all, {all->ne[0], all->ne[1] * all->ne[2], 1, 1});
  g.expand(g.set_rows(all, rows, in.k_rows));
  const Bytes row = ggml::row_size(cache->type, cache->ne[0]);
  return g.view(cache, {.ne = {cache->ne[0], 1, in.cache->cells, job_.caches.streams},
                        .nb1 = row,
                        .nb2 = row,
                        .nb3 = row * in.cache->cells});
}

bool GraphBuilder::fuses_indexer(std::int64_t il) const {
  Tensor q, k, op;
  q.ne = {hp.indexer_head, hp.indexer_heads, 1, 1};
  k.type = job_.caches.type_k;
  op.op = ggml::Op::lightning_indexer;
  op.src[0] = &q;
  op.src[1] = &k;
  return job_.devices.backend(job_.placement.layer(il)).supports_op(op);
}

Tensor* GraphBuilder::masked_but(Tensor* mask, Tensor* chosen) {
  Tensor* all = g.fill(mask);
  all = g.view(all, {.ne = {1, all->ne[0], all->ne[1], all->ne[3]},
                     .nb1 = all->nb[0],
                     .nb2 = all->nb[1],
                     .nb3 = all->nb[2]});
  Tensor* cells = g.view(chosen, {.ne = {chosen->ne[0], chosen->ne[1], chosen->ne[3], 1},
                                  .nb1 = chosen->nb[1],
                                  .nb2 = chosen->nb[2],
                                  .nb3 = chosen->ne[3] * chosen->nb[3]});
  Tensor* zeros = g.fill(g.tensor(Type::f32, {1, cells->ne[0], cells->ne[1], cells->ne[2]}));
  Tensor* left = g.set_rows(all, zeros, cells);
  left = g.view(left, {.ne = {left->ne[1], left->ne[2], 1, left->ne[3]},
                       .nb1 = left->nb[2],
                       .nb2 = left->nb[3],
                       .nb3 = left->nb[3]});
  return g.add(left, mask);
}

}  // namespace memtape::llamacpp
