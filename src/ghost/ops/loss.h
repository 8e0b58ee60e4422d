// SPDX-License-Identifier: Apache-2.0
// Losses: cross entropy as log_softmax followed by nll_loss (aten/src/ATen/native/LossNLL.cpp).
#pragma once

#include "ghost/tensor.h"

namespace memtape::ghost {

/// torch.nn.functional.cross_entropy of [rows, classes] logits against [rows] labels, mean over
/// labels that count.
Tensor cross_entropy(const In& logits, const In& labels);

/// The same of each row: [rows] (reduction="none").
Tensor cross_entropy_of_rows(const In& logits, const In& labels);

}  // namespace memtape::ghost
