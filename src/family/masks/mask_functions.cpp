// SPDX-License-Identifier: Apache-2.0
#include "family/masks/mask_functions.h"

#include "ghost/autograd/node.h"
#include "ghost/ops/comparisons.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/indexing.h"
#include "ghost/ops/unary.h"
#include "ghost/session.h"
#include "ghost/trace.h"
#include "release/transformers_changes.h"

namespace memtape::family {
namespace {}  // namespace

Tensor all_true(const MaskIndices& at) {
  if (ghost::has(changes::kMaskIndicesBroadcast)) return ghost::ones({}, DType::boolean);
  return all_true_by_vmap(at);
}

Tensor all_true_by_vmap(const MaskIndices& at) {
  return ghost::ones({1, 1, at.query.size(2), 1}, DType::boolean);
}

Tensor causal(const MaskIndices& at) { return ghost::le(at.key, at.query); }

Tensor bidirectional(const MaskIndices& at) { return ghost::ge(at.query, 0); }

Tensor sliding_window_causal(const MaskIndices& at) {
  Tensor result = all_true(at);
  {
    Tensor seen;
    {
      const Tensor oldest = at.query.add(-1);
      seen = ghost::gt(at.key, oldest);
    }
    result = ghost::bitwise_and(result, seen);
  }
  return ghost::bitwise_and(result, causal(at));
}

Tensor sliding_window_bidirectional(const MaskIndices& at) {
  Tensor result = all_true(at);
  {
    Tensor near;
    {
      const Tensor distance = ghost::abs(at.query.sub(at.key));
      near = ghost::le(distance, ghost::kLimit);
    }
    result = ghost::bitwise_and(result, near);
  }
  return ghost::bitwise_and(result, bidirectional(at));
}

Tensor chunked_causal(const MaskIndices& at, const Tensor& left_padding) {
  Tensor result = all_true(at);
  {
    const auto chunk_of = [&](const Tensor& positions) {
      Tensor from_start = positions.sub(ghost::index(left_padding, at.batch));
      return ghost::floor_divide(std::move(from_start), ghost::kLimit);
    };
    Tensor same;
    {
      const Tensor of_key = chunk_of(at.key), of_query = chunk_of(at.query);
      same = ghost::eq(of_key, of_query);
    }
    result = ghost::bitwise_and(result, same);
  }
  return ghost::bitwise_and(result, causal(at));
}

namespace {

/// mask[rows, columns]: the CUDA kernel wants index tensors of one layout: those that are not
/// packed are copied (AdvancedIndex).
Tensor index_pairs(const Tensor& mask, const Tensor& batch, const Tensor& positions) {
  ghost::Op op("index", {});
  ghost::traced_reads({&mask, &batch, &positions});
  Dims sizes = positions.sizes();
  sizes[0] = batch.size(0);
  const Tensor rows = batch.expand(sizes).contiguous();
  const Tensor columns = positions.expand(sizes).contiguous();
  return ghost::empty(sizes, mask.dtype());
}

}  // namespace

Tensor packed_sequence(const MaskIndices& at, const Tensor& packed_sequence_mask) {
  const Tensor of_query = index_pairs(packed_sequence_mask, at.batch, at.query);
  const Tensor of_key = index_pairs(packed_sequence_mask, at.batch, at.key);
  return ghost::eq(of_query, of_key);
}

Tensor one_block(const MaskIndices& at, const Tensor& block_sequence_ids) {
  const Tensor q_group = index_pairs(block_sequence_ids, at.batch, at.query);
  const Tensor kv_group = index_pairs(block_sequence_ids, at.batch, at.key);
  const Tensor same = ghost::eq(q_group, kv_group);
  return ghost::bitwise_and(same, ghost::ge(q_group, 0));
}

Tensor padding(const MaskIndices& at, const Tensor& padding_mask) {
  return index_pairs(padding_mask, at.batch, at.key);
}

}  // namespace memtape::family
