// SPDX-License-Identifier: Apache-2.0
#include "framework/megatron/permutation.h"

#include <utility>

#include "ghost/ops/creation.h"
#include "ghost/ops/indexing.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/sorting.h"
#include "ghost/ops/unary.h"

namespace memtape::megatron {
namespace {

using ghost::empty;
using ghost::Gradients;

/// moe_permute_mask_map_forward: a row for each token, with two places for each expert and a count.
Permuted fused_permute(const Tensor& rows, const Tensor& map, const Tensor& probs,
                       std::int64_t count) {
  Permuted out;
  {
    const ghost::Op op("make_row_id_map", {});
    out.mapping = empty({map.size(0), 2 * map.size(1) + 1}, DType::int32);
  }
  out.tokens.hidden = apply(
      {.name = "_moe_permute_mask_mapBackward",
       .inputs = {rows},
       .forward =
           [&](ToSave& save) {
             save = {out.mapping};
             return empty({count, rows.size(1)}, rows.dtype());
           },
       .backward = [sizes = rows.sizes()](std::span<const Tensor>, const Tensor& grad,
                                          Gradients& in) { in[0] = empty(sizes, grad.dtype()); }});
  if (probs.defined())
    out.tokens.probs =
        apply({.name = "_moe_permute_mask_mapBackward",
               .inputs = {probs},
               .forward = [&](ToSave&) { return empty({count}, probs.dtype()); },
               .backward = [sizes = probs.sizes()](
                               std::span<const Tensor>, const Tensor& grad,
                               Gradients& in) { in[0] = empty(sizes, grad.dtype()); }});
  return out;
}

/// As many tokens for each expert: the first of a stable sort. Their weights are picked by places
/// in all of them.
Permuted permute_padded(const Tensor& rows, const Tensor& routing, const Tensor& probs,
                        std::int64_t count) {
  const std::int64_t experts = routing.size(1), capacity = count / experts;
  Permuted out;
  Tensor flat, first, places;
  const Tensor map = routing.to(DType::int8).transpose(0, 1).contiguous();
  {
    const Tensor sorted = ghost::sort(map).second;
    out.mapping = sorted.slice(-1, 0, capacity).contiguous().view({-1});
  }
  if (probs.defined()) {
    flat = probs.transpose(0, 1).contiguous().view({-1});
    first = ghost::arange(experts, DType::int64).unsqueeze(-1);
    places =
        first.mul(static_cast<double>(routing.size(0))).add(out.mapping.view({experts, capacity}));
    out.tokens.probs = ghost::index_select(flat, places.view({-1}));
  }
  out.tokens.hidden = ghost::index_select(rows, out.mapping);
  return out;
}

/// The map's ones first: as many as rows come out, of a sort of all of it, which stays whole for as
/// long as weights were picked by it.
Permuted permute_by_sort(const Tensor& rows, const Tensor& routing, const Tensor& probs,
                         std::int64_t count) {
  Permuted out;
  const Tensor map = routing.transpose(0, 1).contiguous();
  Tensor order = ghost::sort(map.view({-1})).second;
  order = order.slice(0, 0, count);
  out.mapping = ghost::remainder(order, rows.size(0));
  if (probs.defined())
    out.tokens.probs = ghost::index(probs.transpose(0, 1).contiguous().view({-1}), order);
  out.tokens.hidden = ghost::index_select(rows, out.mapping);
  return out;
}

}  // namespace

Permuted permute(const Tensor& rows, const Tensor& routing, const Tensor& probs,
                 const PermuteOptions& options) {
  if (options.fused) return fused_permute(rows, routing, probs, options.count);
  if (options.pads) return permute_padded(rows, routing, probs, options.count);
  if (options.by_sort) return permute_by_sort(rows, routing, probs, options.count);
  const std::int64_t tokens = rows.size(0), experts = routing.size(1);
  Permuted out;
  const Tensor map = routing.transpose(0, 1).contiguous();
  const Tensor numbers = ghost::arange(tokens, DType::int64).unsqueeze(0).expand({experts, tokens});
  out.mapping = ghost::masked_select(numbers, map, options.count);
  if (probs.defined())
    out.tokens.probs = ghost::masked_select(probs.transpose(0, 1).contiguous(), map, options.count);
  out.tokens.hidden = ghost::index_select(rows, out.mapping);
  return out;
}

Tensor unpermute(const Tensor& rows, const Tensor& mapping, std::int64_t tokens,
                 const PermuteOptions& options) {
  const Dims sizes{tokens, rows.size(1)};
  if (options.fused)
    return apply({.name = "_moe_unpermute_mask_mapBackward",
                  .inputs = {rows},
                  .forward =
                      [&](ToSave& save) {
                        save = {mapping};
                        return empty(sizes, rows.dtype());
                      },
                  .backward = [sizes = rows.sizes()](
                                  std::span<const Tensor>, const Tensor& grad,
                                  Gradients& in) { in[0] = empty(sizes, grad.dtype()); }});
  Tensor out = ghost::zeros(sizes, rows.dtype());
  if (!options.deterministic) {
    ghost::scatter_add_(out, mapping.unsqueeze(1).expand(rows.sizes()), rows);
    return out;
  }
  out = ghost::zeros(sizes, rows.dtype());
  {  // index_add_ is index_put_ of the rows times its alpha then
    const ghost::Op op("index_put_", {});
    const Tensor scaled = empty(rows.sizes(), rows.dtype());
  }
  ghost::index_add_(out, mapping, rows);
  return out;
}

Tensor sort_chunks(const Tensor& rows, std::int64_t parts, std::int64_t chunks, bool fused) {
  if (fused)
    return apply({.name = "_moe_chunk_sortBackward",
                  .inputs = {rows},
                  .forward =
                      [&](ToSave& save) {
                        save = {empty({rows.size(0)}, DType::int32)};
                        return empty(rows.sizes(), rows.dtype());
                      },
                  .backward = [](std::span<const Tensor>, const Tensor& grad,
                                 Gradients& in) { in[0] = empty(grad.sizes(), grad.dtype()); }});
  const std::int64_t count = parts * chunks, each = rows.size(0) / count;
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(count), each);
  sizes.back() += rows.size(0) - count * each;
  const std::vector<Tensor> pieces = rows.split(sizes, 0);
  std::vector<Tensor> sorted;
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk)
    for (std::int64_t part = 0; part < parts; ++part)
      sorted.push_back(pieces[static_cast<std::size_t>(part * chunks + chunk)]);
  return ghost::cat(sorted, 0);
}

}  // namespace memtape::megatron
