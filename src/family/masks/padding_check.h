// SPDX-License-Identifier: Apache-2.0
// The check with which a model warns of padding without a mask.
#pragma once

#include "family/pretrained.h"

namespace memtape::family {

/// warn_if_padding_and_no_attention_mask: `pad_token_id in input_ids[:, [-1, 0]]`.
void look_for_padding(const Tensor& input_ids);

}  // namespace memtape::family
