// SPDX-License-Identifier: Apache-2.0
#include "family/parts/decoder.h"

#include "family/masks/early_causal_mask.h"
#include "family/masks/update_causal_mask.h"

namespace memtape::family {

LayerMasks create_layer_masks(const DecoderConfig& config, const Tensor& attention_mask,
                              const Tensor& inputs_embeds, const Tensor& position_ids,
                              const Tensor& block_sequence_ids) {
  const MaskRequest full{.attention = config.attention,
                         .attention_mask = attention_mask,
                         .block_sequence_ids = block_sequence_ids};
  const MaskRequest sliding{.attention = config.attention,
                            .attention_mask = attention_mask,
                            .sliding_window = config.sliding_window.value_or(0),
                            .block_sequence_ids = block_sequence_ids};
  LayerMasks masks;
  if (config.early.masks != EarlyMasks::none && !KeyValueCache::passed()) {
    masks.full_attention = early_causal_mask(config.early, full, inputs_embeds, position_ids);
    masks.sliding_attention = masks.full_attention;
    return masks;
  }
  const bool has_windows =
      (config.masks_by_layer_type || config.has_sliding_layers() || config.knew_windows) &&
      !config.masks_both_types;
  if (has_windows && !ghost::has(changes::kMasksAreShared) && !KeyValueCache::passed()) {
    if (!config.knew_windows && !ghost::has(changes::kMasksKnowWindows)) {
      masks.full_attention = update_causal_mask(full, inputs_embeds, position_ids);
      masks.sliding_attention = masks.full_attention;
      return masks;
    }
    const bool slides = config.has_sliding_layers() && !config.masks_by_layer_type;
    masks.full_attention =
        update_causal_mask(slides ? sliding : full, inputs_embeds, position_ids, true);
    masks.sliding_attention = masks.full_attention;
    return masks;
  }
  if (config.masks_by_layer_type || !config.has_sliding_layers())
    masks.full_attention = create_causal_mask(full, inputs_embeds, position_ids);
  if (config.has_sliding_layers() || config.masks_both_types)
    masks.sliding_attention =
        create_sliding_window_causal_mask(sliding, inputs_embeds, position_ids);
  return masks;
}

}  // namespace memtape::family
