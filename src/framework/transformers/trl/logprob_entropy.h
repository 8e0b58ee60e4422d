// SPDX-License-Identifier: Apache-2.0
// trl 1.16's _LogProbEntropyFunction (kernels/logprob_entropy.py), which selective_log_softmax
// (trainer/utils.py) is on a GPU: from logits in one pass, four numbers for each token; the logits
// stay for backward, whose gradient of them is dense.
#pragma once

#include "ghost/tensor.h"

namespace memtape::transformers::trl {

/// selective_log_softmax(logits, index): float32 [B, S] of [B, S, V].
ghost::Tensor selective_log_softmax(const ghost::Tensor& logits, const ghost::Tensor& index);

}  // namespace memtape::transformers::trl
