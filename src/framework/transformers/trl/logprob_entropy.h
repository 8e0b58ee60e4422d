// SPDX-License-Identifier: Apache-2.0
// _LogProbEntropyFunction of trl 1.16 (kernels/logprob_entropy.py), which selective_log_softmax
// (trainer/utils.py) uses on a GPU: one pass over the logits gives four numbers for each token. The
// logits are kept for backward, and their gradient is dense.
#pragma once

#include "ghost/tensor.h"

namespace memtape::transformers::trl {

/// selective_log_softmax(logits, index), which gives float32 [B, S] for logits [B, S, V].
ghost::Tensor selective_log_softmax(const ghost::Tensor& logits, const ghost::Tensor& index);

}  // namespace memtape::transformers::trl
