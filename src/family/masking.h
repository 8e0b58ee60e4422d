// SPDX-License-Identifier: Apache-2.0
// Attention masks as transformers' masking_utils.py builds them: nothing for plain causal sdpa, one bool [B, 1, S, S] where a
// mask is needed, an additive one in the model's dtype for eager attention.
#pragma once

#include "family/pretrained.h"

namespace memtape::family {

struct MaskRequest {
  AttentionImplementation attention = AttentionImplementation::sdpa;
  Tensor attention_mask;  ///< [B, S], may be undefined
  std::int64_t sliding_window = 0;  ///< tokens a query sees; for sliding layers
};

/// create_causal_mask.
Tensor create_causal_mask(const MaskRequest& request, const Tensor& inputs_embeds, const Tensor& position_ids);

/// create_sliding_window_causal_mask.
Tensor create_sliding_window_causal_mask(const MaskRequest& request, const Tensor& inputs_embeds, const Tensor& position_ids);

}  // namespace memtape::family
