// SPDX-License-Identifier: Apache-2.0
// The loss of heads that shift their logits themselves.
#pragma once

#include "family/pretrained.h"

namespace memtape::family {

/// Cross entropy of a float32 copy of the logits without the last position.
Tensor shifted_logits_loss(const Tensor& logits, const Batch& batch, std::int64_t vocab_size);

}  // namespace memtape::family
