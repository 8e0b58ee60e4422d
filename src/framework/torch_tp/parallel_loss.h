// SPDX-License-Identifier: Apache-2.0
// cross_entropy within loss_parallel() (torch/distributed/tensor/parallel/loss.py): logits stay
// divided along the vocabulary, and only a few numbers per token are communicated. Its forward and
// backward are written as pointwise ops. The backward of nll_loss does the whole backward of
// log_softmax and nll_loss.
#pragma once

#include "ghost/tensor.h"

namespace memtape::torch_tp {

/// The loss of logits [rows, local classes] and labels [rows].
ghost::Tensor parallel_cross_entropy(const ghost::In& logits, const ghost::Tensor& labels);

}  // namespace memtape::torch_tp
