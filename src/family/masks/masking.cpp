// SPDX-License-Identifier: Apache-2.0
#include "family/masks/masking.h"

#include <algorithm>
#include <utility>

#include "family/caches/key_value_cache.h"
#include "family/masks/mask_functions.h"
#include "family/masks/update_causal_mask.h"
#include "ghost/ops/comparisons.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/indexing.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/padding.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"
#include "ghost/session.h"
#include "release/mask_changes.h"
#include "release/torch_changes.h"

namespace memtape::family {
namespace {

/// find_packed_sequence_indices: positions that step by one everywhere mean one sequence a row, and
/// no mask; else the number of its sequence for each token.
Tensor find_packed_sequence_indices(const Tensor& position_ids) {
  const Tensor first_dummy_value = position_ids.slice(1, 0, 1).add(-1);
  Tensor position_diff;
  {
    const Tensor prepended = ghost::cat({first_dummy_value, position_ids}, -1);
    position_diff = prepended.slice(-1, 1, prepended.size(-1)).sub(prepended.slice(-1, 0, -1));
  }
  Tensor packed_sequence_mask = ghost::cumsum(ghost::ne(position_diff, 1));
  if (!ghost::has(changes::kUnpackedRowsAreTold)) return packed_sequence_mask;
  {
    const Tensor single = ghost::all(ghost::eq(packed_sequence_mask.select(1, -1), 0));
  }
  const auto* const rows = ghost::given_here<PackedSequences>();
  return rows && rows->packed ? packed_sequence_mask : Tensor();
}

/// fast_all: mask.sum() == mask.numel().
void fast_all(const Tensor& mask) {
  const Tensor sum = ghost::zeros({}, DType::int64);
  {
    const Tensor counted = mask.to(DType::int64);
  }
  const Tensor equal = ghost::eq(sum, mask.numel());
}

/// One call of the mask interface: what _preprocess_mask_arguments found out, and which positions
/// may see which.
struct MaskCall {
  const MaskRequest& request;
  Tensor padding_mask;     ///< [B, Skv] bool, may be undefined
  Tensor given_mask = {};  ///< the same before it was padded: the caller holds it
  std::int64_t batch, queries, keys;
  std::int64_t query_offset = 0, key_offset = 0;
  DType dtype;
  Tensor positions = {};  ///< [B or 1, S], may be undefined
  bool causal = false;
  bool sliding = false;
  bool hides_future = false;  ///< padding_mask was padded up to the keys a fixed cache has room for

  Tensor packed_sequence_mask = {};  ///< [B, S], where rows are packed
  Tensor left_padding = {};          ///< [B] of a chunked mask: where each row's first chunk starts

  /// A query sees less than there is: then no mask is skipped.
  bool is_local() const { return sliding && keys >= request.sliding_window; }
};

enum class MaskKind { causal, sliding_causal, bidirectional, sliding_bidirectional };

bool is_sliding(MaskKind kind) {
  return kind == MaskKind::sliding_causal || kind == MaskKind::sliding_bidirectional;
}

/// Functions that index by a scalar tensor run under vmap since torch 2.6 alone.
bool looks_for_packing() {
  return ghost::has(changes::kMaskIndicesBroadcast) ||
         (ghost::has(changes::kPackedRowsAreFound) && ghost::has(changes::kVmapIndexesByScalars));
}

MaskCall preprocess_mask_arguments(const MaskRequest& request, const Tensor& embeds,
                                   const Tensor& position_ids, MaskKind kind) {
  MaskCall call{.request = request,
                .padding_mask = {},
                .batch = embeds.size(0),
                .queries = embeds.size(1),
                .keys = embeds.size(1),
                .dtype = embeds.dtype(),
                .positions = position_ids,
                .causal = kind == MaskKind::causal || kind == MaskKind::sliding_causal,
                .sliding = is_sliding(kind)};
  if (request.attention_mask.defined()) {
    call.padding_mask = request.attention_mask.to(DType::boolean);
    call.keys = request.attention_mask.size(-1);
  }
  if (const KeyValueCache* cache = KeyValueCache::passed()) {
    call.query_offset = cache->seen();
    const MaskSizes sizes = cache->mask_sizes(call.sliding, call.queries);
    call.keys = sizes.kv_length;
    call.key_offset = sizes.kv_offset;
  } else if (!request.attention_mask.defined() && position_ids.defined() && looks_for_packing()) {
    call.packed_sequence_mask =
        find_packed_sequence_indices(position_ids.size(0) == call.batch
                                         ? position_ids
                                         : position_ids.expand({call.batch, position_ids.size(1)}));
  }
  return call;
}

/// The positions that a bidirectional mask counts before it is known to be needed; undefined where
/// it does not.
Tensor counted_before(const Tensor& inputs_embeds) {
  const bool counts =
      ghost::has(changes::kMaskIndicesBroadcast) && !ghost::has(changes::kMasksCountTheirQueries);
  if (!counts) return {};
  return ghost::arange(inputs_embeds.size(1), DType::int64).unsqueeze(0);
}

/// prepare_padding_mask: what a fixed cache has room for beyond the mask is padding.
void prepare_padding_mask(MaskCall& call) {
  if (!call.padding_mask.defined()) return;
  const std::int64_t missing = call.keys + call.key_offset - call.padding_mask.size(-1);
  if (missing <= 0) return;
  call.given_mask = call.padding_mask;
  call.padding_mask = ghost::pad_last(call.padding_mask, 0, missing);
  call.hides_future = true;
}

/// _ignore_causal_mask_sdpa of transformers before 5.14.
bool ignores_square_causal_mask(const MaskCall& call, const Tensor& padding_mask) {
  const bool square = call.queries == 1 || call.keys == call.queries;
  if (!square || call.is_local()) return false;
  if (!padding_mask.defined()) return true;
  const Tensor none_hidden = ghost::all(padding_mask);
  return !call.request.has_padding && !call.hides_future;
}

/// _ignore_causal_mask_sdpa.
bool ignores_causal_mask(const MaskCall& call) {
  const KeyValueCache* cache = KeyValueCache::passed();
  const bool decodes_compileable = cache && cache->is_fixed() && call.queries == 1;
  if (!call.request.allow_is_causal_skip || decodes_compileable ||
      call.packed_sequence_mask.defined() || call.request.block_sequence_ids.defined())
    return false;
  Tensor padding_mask = call.padding_mask;
  if (padding_mask.defined() && padding_mask.size(-1) > call.keys) {
    const Tensor mask_indices = ghost::arange(call.keys, DType::int64).add(0);
    padding_mask = ghost::index_columns(padding_mask, mask_indices);
  }
  if (!ghost::has(changes::kMasksSumTheirTruths))
    return ignores_square_causal_mask(call, padding_mask);
  if (call.is_local()) return false;
  const bool hides = call.request.has_padding || call.hides_future;
  if (call.queries == 1 || call.keys == call.queries) {
    if (!padding_mask.defined()) return true;
    fast_all(padding_mask);
    if (!hides) return true;
  }
  if (call.query_offset != 0) return false;
  if (!padding_mask.defined()) return true;
  fast_all(padding_mask.slice(1, 0, call.queries));
  if (call.request.has_padding) return false;
  fast_all(ghost::bitwise_not(padding_mask.slice(1, call.queries, padding_mask.size(1))));
  return true;
}

/// _ignore_bidirectional_mask_sdpa.
bool ignores_bidirectional_mask(const MaskCall& call) {
  if (call.padding_mask.defined()) {
    const Tensor none_hidden = ghost::all(call.padding_mask);
    if (call.request.has_padding) return false;
  }
  return !call.is_local();
}

Tensor pattern(const MaskCall& call, const MaskIndices& indices) {
  if (call.left_padding.defined()) return chunked_causal(indices, call.left_padding);
  if (call.sliding)
    return call.causal ? sliding_window_causal(indices) : sliding_window_bidirectional(indices);
  return call.causal ? causal(indices) : bidirectional(indices);
}

/// The pattern and `lambda *args: torch.tensor(True)`, whose result comes from the host.
Tensor pattern_and_true(const MaskCall& call, const MaskIndices& indices) {
  Tensor mask = all_true_by_vmap(indices);
  mask = ghost::bitwise_and(mask, pattern(call, indices));
  return ghost::bitwise_and(mask, ghost::ones({}, DType::boolean));
}

/// The pattern, and within one sequence of a packed row.
Tensor pattern_of_rows(const MaskCall& call, const MaskIndices& indices) {
  if (call.request.vmaps_with_true) return pattern_and_true(call, indices);
  if (!call.packed_sequence_mask.defined()) return pattern(call, indices);
  Tensor mask = all_true(indices);
  mask = ghost::bitwise_and(mask, pattern(call, indices));
  return ghost::bitwise_and(mask, packed_sequence(indices, call.packed_sequence_mask));
}

/// or_masks of that and of the blocks of images, if there are any.
Tensor mask_function(const MaskCall& call, const MaskIndices& indices) {
  const Tensor& blocks = call.request.block_sequence_ids;
  if (!blocks.defined()) return pattern_of_rows(call, indices);
  Tensor mask = ghost::zeros({}, DType::boolean);
  mask = ghost::bitwise_or(mask, pattern_of_rows(call, indices));
  return ghost::bitwise_or(mask, one_block(indices, blocks));
}

/// The pattern with the padding, for all indices.
Tensor mask_at(const MaskCall& call, const MaskIndices& indices) {
  if (!call.padding_mask.defined()) return mask_function(call, indices);
  Tensor mask = all_true(indices);  // and_masks of the pattern and the padding
  mask = ghost::bitwise_and(mask, mask_function(call, indices));
  return ghost::bitwise_and(mask, padding(indices, call.padding_mask));
}

/// sdpa_mask_recent_torch: torch.vmap over positions that the model has counted before. Where the
/// caller gives none, those of the keys have their sizes.
Tensor materialized_by_vmap(const MaskCall& call) {
  const Tensor kv_arange = ghost::arange(call.keys, DType::int64);
  const Tensor batch_arange = ghost::arange(call.batch, DType::int64);
  const Tensor head_arange = ghost::arange(1, DType::int64);
  const Tensor cache_position = call.positions.defined() ? call.positions.slice(0, 0, 1)
                                                         : kv_arange.slice(0, 0, call.queries);
  const Tensor mask = mask_at(call, {.batch = batch_arange.view({-1, 1, 1, 1}),
                                     .query = cache_position.view({1, 1, -1, 1}),
                                     .key = kv_arange.view({1, 1, 1, -1})});
  return mask.expand({call.batch, -1, call.queries, call.keys});
}

/// The positions of the queries: the model's where they are handed down.
Tensor query_positions(const MaskCall& call) {
  const bool handed_down =
      !ghost::has(changes::kMasksCountTheirQueries) && call.positions.defined();
  return handed_down ? call.positions.slice(0, 0, 1)
                     : ghost::arange(call.queries, DType::int64).add(0);
}

/// The bool mask of sdpa_mask, for positions counted from zero.
Tensor materialized(const MaskCall& call) {
  if (!ghost::has(changes::kMaskIndicesBroadcast)) return materialized_by_vmap(call);
  const Tensor batch_arange = ghost::arange(call.batch, DType::int64);
  const Tensor head_arange = ghost::arange(1, DType::int64);
  const Tensor q_arange = query_positions(call);
  const Tensor kv_arange = ghost::arange(call.keys, DType::int64).add(0);
  const MaskIndices indices{.batch = batch_arange.view({-1, 1, 1, 1}),
                            .query = q_arange.view({1, 1, -1, 1}),
                            .key = kv_arange.view({1, 1, 1, -1})};
  const Tensor mask = mask_at(call, indices);
  return mask.expand({call.batch, -1, call.queries, call.keys});
}

/// eager_mask: torch.where(mask, torch.tensor(0.0), min_dtype).
Tensor additive(const Tensor& mask, DType dtype) {
  const Tensor zero = ghost::zeros({}, dtype);
  const Tensor min_dtype = ghost::zeros({}, dtype);
  return ghost::where(mask, zero, min_dtype);
}

/// flash_attention_mask: the padding, if there is any.
Tensor flash_attention_mask(const MaskCall& call) {
  if (!call.padding_mask.defined()) return {};
  const Tensor none_hidden = ghost::all(call.padding_mask);
  return call.request.has_padding ? call.padding_mask : Tensor();
}

Tensor mask_interface(MaskCall call) {
  if (call.request.attention == AttentionImplementation::flash) return flash_attention_mask(call);
  prepare_padding_mask(call);
  const bool eager = call.request.attention == AttentionImplementation::eager;
  if (call.causal && !eager && ignores_causal_mask(call)) return {};
  if (!call.causal && ignores_bidirectional_mask(call)) return {};
  const Tensor mask = materialized(call);
  return eager ? additive(mask, call.dtype) : mask;
}

/// (attention_mask.cumsum(-1) == zeros_like(attention_mask)).sum(-1), or zeros without padding.
Tensor left_padding_tokens(const MaskCall& call) {
  if (!call.padding_mask.defined()) return ghost::zeros({call.batch}, DType::int64);
  Tensor before_first;
  {
    const Tensor counted = ghost::cumsum(call.padding_mask);
    const Tensor zeros = ghost::zeros_like(call.padding_mask);
    before_first = ghost::eq(counted, zeros);
  }
  Tensor sum = ghost::zeros({call.batch}, DType::int64);
  const Tensor as_numbers = before_first.to(DType::int64);
  return sum;
}

}  // namespace

MasksForGenerate::MasksForGenerate(const MaskRequest& request,
                                   std::span<const std::int64_t> windows,
                                   const Tensor& inputs_embeds, const Tensor& position_ids) {
  const auto slides = [](std::int64_t window) { return window > 0; };
  const auto first = std::ranges::find_if(windows, slides);
  {
    const ghost::Given<MasksForGenerate> none_yet(nullptr);
    if (!std::ranges::all_of(windows, slides) || windows.empty())
      full_attention = create_causal_mask(request, inputs_embeds, position_ids);
    if (first != windows.end()) {
      MaskRequest sliding = request;
      sliding.sliding_window = *first;
      sliding_attention = create_sliding_window_causal_mask(sliding, inputs_embeds, position_ids);
    }
  }
  given_.emplace(this);
}

Tensor create_causal_mask(const MaskRequest& request, const Tensor& inputs_embeds,
                          const Tensor& position_ids) {
  if (const auto* const made = ghost::given_here<MasksForGenerate>()) return made->full_attention;
  if (!ghost::has(request.shared_since))
    return update_causal_mask(request, inputs_embeds, position_ids);
  return mask_interface(
      preprocess_mask_arguments(request, inputs_embeds, position_ids, MaskKind::causal));
}

Tensor create_sliding_window_causal_mask(const MaskRequest& request, const Tensor& inputs_embeds,
                                         const Tensor& position_ids) {
  if (const auto* const made = ghost::given_here<MasksForGenerate>())
    return made->sliding_attention;
  if (!ghost::has(request.shared_since))
    return update_causal_mask(request, inputs_embeds, position_ids);
  return mask_interface(
      preprocess_mask_arguments(request, inputs_embeds, position_ids, MaskKind::sliding_causal));
}

Tensor create_chunked_causal_mask(const MaskRequest& request, const Tensor& inputs_embeds,
                                  const Tensor& position_ids) {
  MaskCall call =
      preprocess_mask_arguments(request, inputs_embeds, position_ids, MaskKind::sliding_causal);
  call.left_padding = left_padding_tokens(call);
  return mask_interface(std::move(call));
}

Tensor create_bidirectional_mask(const MaskRequest& request, const Tensor& inputs_embeds,
                                 const Tensor& encoder_hidden_states) {
  const Tensor& attended = encoder_hidden_states.defined() ? encoder_hidden_states : inputs_embeds;
  Tensor counted = counted_before(inputs_embeds);
  MaskCall call = preprocess_mask_arguments(request, inputs_embeds, {}, MaskKind::bidirectional);
  call.positions = std::move(counted);
  if (!request.attention_mask.defined()) call.keys = attended.size(1);
  call.dtype = attended.dtype();
  return mask_interface(std::move(call));
}

Tensor create_bidirectional_sliding_window_mask(const MaskRequest& request,
                                                const Tensor& inputs_embeds) {
  Tensor counted = counted_before(inputs_embeds);
  MaskCall call =
      preprocess_mask_arguments(request, inputs_embeds, {}, MaskKind::sliding_bidirectional);
  call.positions = std::move(counted);
  return mask_interface(std::move(call));
}

}  // namespace memtape::family
