// SPDX-License-Identifier: Apache-2.0
// Decoders whose layers share one causal mask, which the model's own code made until
// masking_utils.py made the masks of all models.
#pragma once

#include "family/masks/update_causal_mask.h"
#include "family/parts/decoder.h"
#include "release/transformers_4_changes.h"
#include "release/transformers_changes.h"

namespace memtape::family {

inline LayerMasks late_shared_mask(const DecoderConfig& c, const Tensor& attention_mask,
                                   const Tensor& inputs_embeds, const Tensor& position_ids) {
  const MaskRequest request{.attention = c.attention,
                            .attention_mask = attention_mask,
                            .shared_since = changes::kAllMasksAreShared};
  return {.full_attention = create_causal_mask(request, inputs_embeds, position_ids),
          .sliding_attention = {}};
}

/// Where that code heeded the window of a layer, for all of them (Qwen2-MoE, Phi-3.5-MoE).
inline LayerMasks late_windowed_mask(const DecoderConfig& c, const Tensor& attention_mask,
                                     const Tensor& inputs_embeds, const Tensor& position_ids) {
  if (ghost::has(changes::kAllMasksAreShared) || KeyValueCache::passed())
    return create_layer_masks(c, attention_mask, inputs_embeds, position_ids);
  const bool heeds_windows = ghost::has(changes::kMasksKnowWindows);
  const bool slides = heeds_windows && c.has_sliding_layers();
  const MaskRequest request{.attention = c.attention,
                            .attention_mask = attention_mask,
                            .sliding_window = slides ? c.sliding_window.value_or(0) : 0};
  LayerMasks masks;
  masks.full_attention = update_causal_mask(request, inputs_embeds, position_ids, heeds_windows);
  masks.sliding_attention = masks.full_attention;
  return masks;
}

struct LateSharedMask : DecoderParts {
  static LayerMasks make_masks(const DecoderConfig& c, const Tensor& attention_mask,
                               const Tensor& inputs_embeds, const Tensor& position_ids) {
    return late_shared_mask(c, attention_mask, inputs_embeds, position_ids);
  }
};

}  // namespace memtape::family
