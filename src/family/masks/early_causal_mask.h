// SPDX-License-Identifier: Apache-2.0
// Causal masks as Llama, Mistral and Qwen2 made them before transformers 4.42.
#pragma once

#include "family/masks/masking.h"
#include "family/parts/early_decoder.h"

namespace memtape::family {

/// Undefined if sdpa's is_causal suffices. A mask of all positions is wider than the tokens: each
/// attention picks its rows.
Tensor early_causal_mask(const EarlyDecoder& early, const MaskRequest& request,
                         const Tensor& inputs_embeds, const Tensor& position_ids);

/// causal_mask[:, :, cache_position, :S], a copy in each attention.
Tensor rows_of_mask(const Tensor& mask, std::int64_t tokens);

}  // namespace memtape::family
