// SPDX-License-Identifier: Apache-2.0
#include "family/masks/early_causal_mask.h"

#include <utility>

#include "family/masks/update_causal_mask.h"
#include "ghost/autograd/node.h"
#include "ghost/ops/comparisons.h"
#include "ghost/ops/copies.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"
#include "ghost/ops/views.h"
#include "release/transformers_early_changes.h"

namespace memtape::family {
namespace {

/// AttentionMaskConverter._unmask_unattended: rows that see nothing see all.
Tensor unmask_unattended(const Tensor& mask) {
  Tensor sees_nothing;
  {
    const Tensor hidden = ghost::eq(mask, ghost::kLowest);
    const ghost::Op op("all", {});
    sees_nothing = ghost::empty(mask.sizes().leading().with(1), DType::boolean);
  }
  const Tensor sees = ghost::bitwise_not(sees_nothing);
  return mask.mul(sees);
}

/// Whether sdpa needs no mask: `torch.all(attention_mask == 1)` reads a truth back.
bool needs_no_mask(const EarlyDecoder& early, const MaskRequest& request, std::int64_t tokens) {
  const bool heeds_windows = early.window > 0 && ghost::has(changes::kPreparedMasksHeedWindows);
  if (heeds_windows && tokens >= early.window) return false;
  if (!request.attention_mask.defined()) return true;
  const Tensor none_hidden = ghost::all(ghost::eq(request.attention_mask, 1));
  return !request.has_padding;
}

/// _prepare_4d_causal_attention_mask_for_sdpa, or the one without "for_sdpa".
Tensor prepared_mask(const EarlyDecoder& early, const MaskRequest& request,
                     const Tensor& inputs_embeds) {
  if (request.attention == AttentionImplementation::flash)
    return request.has_padding ? request.attention_mask : Tensor();
  if (request.attention == AttentionImplementation::eager)
    return prepare_4d_causal_attention_mask(request.attention_mask, inputs_embeds,
                                            early.window > 0);
  if (needs_no_mask(early, request, inputs_embeds.size(1))) return {};
  const Tensor mask =
      prepare_4d_causal_attention_mask(request.attention_mask, inputs_embeds, early.window > 0);
  return request.attention_mask.defined() ? unmask_unattended(mask) : mask;
}

/// What the tokenizer's mask hides in the first columns: two comparisons, their product, and a copy
/// of these columns that is written back.
void hide_padded_columns(const Tensor& causal_mask, const Tensor& attention_mask) {
  const Tensor columns = causal_mask.slice(3, 0, attention_mask.size(-1));
  Tensor padding_mask;
  {
    const Tensor is_seen = ghost::eq(columns, 0);
    const Tensor is_padding = ghost::eq(attention_mask.unsqueeze(1).unsqueeze(1), 0);
    padding_mask = is_seen.mul(is_padding);
  }
  const Tensor filled = ghost::masked_fill(columns, padding_mask, ghost::kLowest);
}

void look_for_hidden(const MaskRequest& request) {
  if (request.attention != AttentionImplementation::sdpa || !request.attention_mask.defined())
    return;
  const Tensor hidden = ghost::ne(request.attention_mask, 1);
  const ghost::Op op("any", {});
  const Tensor any = ghost::empty({}, DType::boolean);
}

/// LlamaModel._update_causal_mask of 4.38: the buffer, repeated for each row of the batch.
Tensor mask_of_all_positions(const EarlyDecoder& early, const MaskRequest& request,
                             const Tensor& inputs_embeds) {
  const Dims sizes{inputs_embeds.size(0), 1, early.positions, early.positions};
  Tensor causal_mask;
  {
    Tensor cast;
    {
      const ghost::Op op("repeat", {});
      const Tensor repeated = ghost::empty(sizes, DType::boolean);
      cast = repeated.to(inputs_embeds.dtype());
    }
    causal_mask = cast.mul(ghost::kScale);
  }
  if (request.attention_mask.defined()) hide_padded_columns(causal_mask, request.attention_mask);
  look_for_hidden(request);
  return causal_mask;
}

/// LlamaModel._update_causal_mask of 4.39, whose end is read back where no mask is given.
Tensor mask_of_the_sequence(const MaskRequest& request, const Tensor& inputs_embeds,
                            const Tensor& position_ids) {
  MaskRequest own = request;
  own.attention_mask.reset();
  own.one_more_key = false;
  Tensor causal_mask = make_causal_mask(own, inputs_embeds, position_ids);
  if (!request.attention_mask.defined()) return causal_mask;
  causal_mask = ghost::clone_contiguous(causal_mask);
  hide_padded_columns(causal_mask, request.attention_mask);
  look_for_hidden(request);
  return request.has_padding && request.attention == AttentionImplementation::sdpa
             ? unmask_unattended(causal_mask)
             : causal_mask;
}

}  // namespace

Tensor early_causal_mask(const EarlyDecoder& early, const MaskRequest& request,
                         const Tensor& inputs_embeds, const Tensor& position_ids) {
  if (early.masks == EarlyMasks::prepared) return prepared_mask(early, request, inputs_embeds);
  if (request.attention == AttentionImplementation::flash)
    return request.has_padding ? request.attention_mask : Tensor();
  return early.masks == EarlyMasks::of_the_sequence
             ? mask_of_the_sequence(request, inputs_embeds, position_ids)
             : mask_of_all_positions(early, request, inputs_embeds);
}

Tensor rows_of_mask(const Tensor& mask, std::int64_t tokens) {
  const ghost::Op op("index", {});
  return ghost::empty({mask.size(0), mask.size(1), tokens, tokens}, mask.dtype());
}

}  // namespace memtape::family
