// SPDX-License-Identifier: Apache-2.0
// cross_entropy within loss_parallel() (torch/distributed/tensor/parallel/loss.py): logits stay cut
// along the vocabulary, and only numbers per token go over the wire. Forward and backward are spelt
// out in pointwise ops there; the whole backward of log_softmax and nll_loss is that of nll_loss.
#pragma once

#include "ghost/tensor.h"

namespace memtape::torch_tp {

/// Of [rows, local classes] logits against [rows] labels.
ghost::Tensor parallel_cross_entropy(const ghost::In& logits, const ghost::Tensor& labels);

}  // namespace memtape::torch_tp
