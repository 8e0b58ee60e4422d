// SPDX-License-Identifier: Apache-2.0
// Decoders whose layers share one causal mask, which the model's own code made until
// masking_utils.py made the masks of all models.
#pragma once

#include "family/parts/decoder.h"
#include "release/transformers_changes.h"

namespace memtape::family {

struct LateSharedMask : DecoderParts {
  static LayerMasks make_masks(const DecoderConfig& c, const Tensor& attention_mask,
                               const Tensor& inputs_embeds, const Tensor& position_ids) {
    const MaskRequest request{.attention = c.attention,
                              .attention_mask = attention_mask,
                              .shared_since = changes::kAllMasksAreShared};
    return {.full_attention = create_causal_mask(request, inputs_embeds, position_ids),
            .sliding_attention = {}};
  }
};

}  // namespace memtape::family
