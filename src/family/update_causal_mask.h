// SPDX-License-Identifier: Apache-2.0
// Causal masks as each model of transformers 4 made its own, before masking_utils.py did for all.
#pragma once

#include "family/masking.h"

namespace memtape::family {

/// _update_causal_mask: nothing where sdpa's is_causal will do; else what is added to the scores,
/// in the dtype of `inputs_embeds`, made once for all rows.
Tensor update_causal_mask(const MaskRequest& request, const Tensor& inputs_embeds,
                          const Tensor& position_ids);

}  // namespace memtape::family
