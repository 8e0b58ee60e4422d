// SPDX-License-Identifier: Apache-2.0
// selective_log_softmax before it was one kernel (trl 0.15 to 1.13, trainer/utils.py), and what stood
// in its place before that: log_softmax of all logits, from which the labels' entries are gathered.
#pragma once

#include "ghost/tensor.h"

namespace memtape::transformers::trl {

/// [B, S] for logits [B, S, V]. Rows of float32 keep their logsumexp; others, which would lose too
/// much by that, their whole log_softmax.
ghost::Tensor row_log_softmax(const ghost::Tensor& logits, const ghost::Tensor& index);

}  // namespace memtape::transformers::trl
