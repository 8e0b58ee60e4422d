// SPDX-License-Identifier: Apache-2.0
#include "family/masks/update_causal_mask.h"

#include <algorithm>
#include <utility>

#include "family/caches/key_value_cache.h"
#include "ghost/autograd/node.h"
#include "ghost/ops/comparisons.h"
#include "ghost/ops/copies.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"
#include "ghost/ops/triangular.h"
#include "ghost/session.h"
#include "release/transformers_4_changes.h"

namespace memtape::family {
namespace {

std::int64_t mask_keys(const MaskRequest& request, std::int64_t queries) {
  if (const KeyValueCache* cache = KeyValueCache::passed())
    return cache->mask_sizes(false, queries).kv_length;
  return request.attention_mask.defined() ? request.attention_mask.size(-1) : queries;
}

/// AttentionMaskConverter._ignore_causal_mask_sdpa (modeling_attn_mask_utils.py).
bool ignores_mask(const MaskRequest& request, std::int64_t queries, std::int64_t keys) {
  if (request.attention_mask.defined()) {
    const Tensor none_hidden = ghost::all(ghost::eq(request.attention_mask, 1));
    if (request.has_padding) return false;
  }
  const bool is_local = request.sliding_window > 0 && keys >= request.sliding_window;
  return !is_local && (queries == 1 || keys == queries);
}

/// causal_mask *= torch.arange(target_length) > cache_position.reshape(-1, 1), and what lies beyond
/// the window.
void hide_the_future(const MaskRequest& request, std::int64_t keys, const Tensor& cache_position) {
  Tensor hidden;
  {
    const Tensor targets = ghost::arange(keys, DType::int64);
    hidden = ghost::gt(targets, cache_position);
  }
  if (request.sliding_window == 0) return;
  const Tensor targets = ghost::arange(keys, DType::int64);
  const Tensor oldest = cache_position.add(-1);
  const Tensor before_window = ghost::le(targets, oldest);
}

/// What the tokenizer's mask hides, in a copy for each row.
Tensor hide_padding(Tensor&& causal_mask, const Tensor& attention_mask) {
  Tensor rows = ghost::clone_contiguous(causal_mask);
  causal_mask.reset();
  Tensor padding_mask;
  {
    const Tensor sum = rows.add(attention_mask.unsqueeze(1).unsqueeze(1));
    padding_mask = ghost::eq(sum, 0);
  }
  const Tensor filled = ghost::masked_fill(rows, padding_mask, ghost::kLowest);
  return rows;
}

}  // namespace

Tensor update_causal_mask(const MaskRequest& request, const Tensor& inputs_embeds,
                          const Tensor& position_ids, bool knows_windows) {
  if (request.attention == AttentionImplementation::sdpa &&
      ignores_mask(request, inputs_embeds.size(1), mask_keys(request, inputs_embeds.size(1))))
    return {};
  return make_causal_mask(request, inputs_embeds, position_ids, knows_windows);
}

Tensor make_causal_mask(const MaskRequest& request, const Tensor& inputs_embeds,
                        const Tensor& position_ids, bool knows_windows) {
  if (request.attention == AttentionImplementation::flash)
    return request.has_padding ? request.attention_mask : Tensor();
  const std::int64_t batch = inputs_embeds.size(0), queries = inputs_embeds.size(1);
  const std::int64_t keys = mask_keys(request, queries);
  const bool has_one_more =
      request.one_more_key && !request.attention_mask.defined() && !KeyValueCache::passed();
  const std::int64_t target_length = has_one_more ? keys + 1 : keys;
  Tensor causal_mask = ghost::full({queries, target_length}, inputs_embeds.dtype());
  if (queries != 1 && !knows_windows && request.sliding_window == 0)
    causal_mask = ghost::triu(std::move(causal_mask), 1);
  const Tensor counted =
      position_ids.defined() ? position_ids : ghost::arange(queries, DType::int64).unsqueeze(0);
  hide_the_future(request, target_length, counted.slice(0, 0, 1).view({-1, 1}));
  causal_mask = causal_mask.unsqueeze(0).unsqueeze(0).expand({batch, 1, queries, target_length});
  if (has_one_more) causal_mask = causal_mask.slice(3, 0, keys);
  return request.attention_mask.defined()
             ? hide_padding(std::move(causal_mask), request.attention_mask)
             : causal_mask;
}

SlidingLayerMask::SlidingLayerMask(const Tensor& mask, std::int64_t sliding_window) {
  const Dims sizes = mask.sizes();
  {
    const Tensor ones = ghost::ones(sizes, DType::boolean);
    sliding_window_mask_ = ghost::tril(ones);
  }
  {
    const ghost::Op op("where", {});
    const Tensor min_dtype = ghost::empty({}, mask.dtype());
    attention_mask = ghost::empty(sizes, mask.dtype());
  }
  if (ghost::has(changes::kSlidingMasksByIndices)) pick_columns(sliding_window);
}

void SlidingLayerMask::pick_columns(std::int64_t sliding_window) {
  const std::int64_t keys = attention_mask.size(-1);
  {
    const Tensor before = ghost::empty({}, DType::int64).add(-1);
    offset_ = before.add(1);
  }
  offset_ = ghost::clamp_min(offset_, 0.0);
  mask_indexes_ = ghost::arange(std::min(std::max(attention_mask.size(-2), sliding_window), keys),
                                DType::int64);
  const Dims s = attention_mask.sizes();
  const ghost::Op op("index", {});
  attention_mask = ghost::empty({s[0], s[1], s[2], mask_indexes_.size(0)}, attention_mask.dtype());
}

namespace {

/// context_mask = 1 - torch.triu(torch.ones_like(mask, dtype=torch.int)), and its truths.
void hide_beyond_window(const Dims& sizes) {
  Tensor context_mask;
  {
    Tensor seen;
    {
      const Tensor ones = ghost::ones(sizes, DType::int32);
      seen = ghost::triu(ones);
    }
    context_mask = ghost::rsub(1.0, seen);
  }
  const Tensor hidden = context_mask.to(DType::boolean);
}

}  // namespace

/// AttentionMaskConverter.to_4d: _make_causal_mask, _expand_mask, and the one filled by the other.
Tensor prepare_4d_causal_attention_mask(const Tensor& attention_mask, const Tensor& inputs_embeds,
                                        bool has_window) {
  const std::int64_t batch = inputs_embeds.size(0), length = inputs_embeds.size(1);
  const DType dtype = inputs_embeds.dtype();
  Tensor causal;
  {
    const Tensor mask = ghost::full({length, length}, DType::float32);
    const Tensor mask_cond = ghost::arange(length, DType::int64);
    {
      const Tensor next = mask_cond.add(1);
      const Tensor before = ghost::lt(mask_cond, next.view({length, 1}));
    }
    Tensor cast = mask.to(dtype);
    if (has_window) hide_beyond_window(cast.sizes());
    causal = cast.unsqueeze(0).unsqueeze(0).expand({batch, 1, length, length});
  }
  if (!attention_mask.defined()) return causal;
  Tensor expanded;
  {
    Tensor given = attention_mask.unsqueeze(1).unsqueeze(1).expand({batch, 1, length, length});
    if (given.dtype() != dtype) given = ghost::empty(given.sizes(), dtype);
    const Tensor inverted = ghost::rsub(1.0, given);
    const Tensor hidden = inverted.to(DType::boolean);
    expanded = ghost::masked_fill(inverted, hidden, ghost::kLowest);
  }
  const Tensor filled = expanded.to(DType::boolean);
  return ghost::masked_fill(expanded, filled, ghost::kLowest);
}

}  // namespace memtape::family
