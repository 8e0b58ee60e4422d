// SPDX-License-Identifier: Apache-2.0
#include "family/decoder.h"

namespace memtape::family {

LayerMasks create_layer_masks(const DecoderConfig& config, const Tensor& attention_mask,
                              const Tensor& inputs_embeds, const Tensor& position_ids) {
  const MaskRequest full{.attention = config.attention, .attention_mask = attention_mask};
  const MaskRequest sliding{.attention = config.attention,
                            .attention_mask = attention_mask,
                            .sliding_window = config.sliding_window.value_or(0)};
  LayerMasks masks;
  if (config.masks_by_layer_type || !config.has_sliding_layers())
    masks.full_attention = create_causal_mask(full, inputs_embeds, position_ids);
  if (config.has_sliding_layers() || config.masks_both_types)
    masks.sliding_attention =
        create_sliding_window_causal_mask(sliding, inputs_embeds, position_ids);
  return masks;
}

}  // namespace memtape::family
