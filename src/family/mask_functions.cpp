// SPDX-License-Identifier: Apache-2.0
#include "family/mask_functions.h"

#include "ghost/autograd/node.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/indexing.h"
#include "ghost/ops/pointwise.h"

namespace memtape::family {
namespace {

constexpr auto kAnd = "bitwise_and";

/// and_masks' starting value, q_idx.new_ones((), dtype=torch.bool).
Tensor all_true() { return ghost::ones({}, DType::boolean); }

}  // namespace

Tensor causal(const MaskIndices& at) { return ghost::logical("le", at.key, at.query); }

Tensor bidirectional(const MaskIndices& at) { return ghost::comparison("ge", at.query); }

Tensor sliding_window_causal(const MaskIndices& at) {
  Tensor result = all_true();
  {
    Tensor seen;
    {
      const Tensor oldest = at.query.add(-1);
      seen = ghost::logical("gt", at.key, oldest);
    }
    result = ghost::logical(kAnd, result, seen);
  }
  return ghost::logical(kAnd, result, causal(at));
}

Tensor sliding_window_bidirectional(const MaskIndices& at) {
  Tensor result = all_true();
  {
    Tensor near;
    {
      const Tensor distance = ghost::plain_unary("abs", at.query.sub(at.key));
      near = ghost::comparison("le", distance);
    }
    result = ghost::logical(kAnd, result, near);
  }
  return ghost::logical(kAnd, result, bidirectional(at));
}

Tensor chunked_causal(const MaskIndices& at, const Tensor& left_padding) {
  Tensor result = all_true();
  {
    const auto chunk_of = [&](const Tensor& positions) {
      Tensor from_start = positions.sub(ghost::index(left_padding, at.batch));
      return ghost::plain_unary("floor_divide", std::move(from_start));
    };
    const Tensor of_key = chunk_of(at.key), of_query = chunk_of(at.query);
    const Tensor same = ghost::logical("eq", of_key, of_query);
    result = ghost::logical(kAnd, result, same);
  }
  return ghost::logical(kAnd, result, causal(at));
}

Tensor padding(const MaskIndices& at, const Tensor& padding_mask) {
  ghost::Op op("index", {});
  const Dims sizes{at.batch.size(0), 1, 1, at.key.size(3)};
  // The CUDA kernel wants index tensors of one layout: those that are not packed are copied
  // (AdvancedIndex).
  const Tensor rows = at.batch.expand(sizes).contiguous();
  const Tensor columns = at.key.expand(sizes).contiguous();
  return ghost::empty(sizes, padding_mask.dtype());
}

}  // namespace memtape::family
