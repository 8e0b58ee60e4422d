// SPDX-License-Identifier: Apache-2.0
// Losses: cross entropy as log_softmax followed by nll_loss (aten/src/ATen/native/LossNLL.cpp).
#pragma once

#include "ghost/tensor.h"

namespace memtape::ghost {

/// torch.nn.functional.cross_entropy of logits [rows, classes] and labels [rows]. It is the mean
/// over all labels that count.
Tensor cross_entropy(const In& logits, const In& labels);

/// The same loss for each row, as [rows] (reduction="none").
Tensor cross_entropy_of_rows(const In& logits, const In& labels);

}  // namespace memtape::ghost
