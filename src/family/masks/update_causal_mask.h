// SPDX-License-Identifier: Apache-2.0
// Causal masks as each model of transformers 4 made its own, before masking_utils.py made them for
// all models.
#pragma once

#include "family/masks/masking.h"

namespace memtape::family {

/// _update_causal_mask: undefined if sdpa's is_causal suffices; otherwise the bias that is added to
/// the scores, in the dtype of `inputs_embeds`, made once for all rows. `knows_windows` is set for
/// families that may slide (Mistral, Qwen2): their function masks by positions alone, without
/// torch.triu.
Tensor update_causal_mask(const MaskRequest& request, const Tensor& inputs_embeds,
                          const Tensor& position_ids, bool knows_windows = false);

/// The same where a mask is made even if sdpa could do without (Gemma 2 and 3, whose cache was a
/// static one).
Tensor make_causal_mask(const MaskRequest& request, const Tensor& inputs_embeds,
                        const Tensor& position_ids, bool knows_windows = false);

/// What a sliding layer of Gemma 2 and 3 made of the model's mask, with all that its frame keeps
/// until it returns.
class SlidingLayerMask {
 public:
  SlidingLayerMask(const Tensor& mask, std::int64_t sliding_window);
  Tensor attention_mask;

 private:
  void pick_columns(std::int64_t sliding_window);

  Tensor sliding_window_mask_, offset_, mask_indexes_;
};

/// _prepare_4d_causal_attention_mask of modeling_attn_mask_utils.py: a bias for each row of a given
/// mask [B, S], or of the tokens alone.
Tensor prepare_4d_causal_attention_mask(const Tensor& attention_mask, const Tensor& inputs_embeds,
                                        bool has_window = false);

}  // namespace memtape::family
