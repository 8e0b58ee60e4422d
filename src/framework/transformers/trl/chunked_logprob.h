// SPDX-License-Identifier: Apache-2.0
// trl 1.16's ChunkedLogProbFunction (kernels/chunked_logprob.py): log-probabilities of the labels
// without the logits, in tiles of 4,096 tokens by 32,768 entries of the vocabulary, which backward
// makes again; gradients are summed in float32.
#pragma once

#include <functional>
#include <memory>

#include "ghost/tensor.h"

namespace memtape::transformers::trl {

/// What it gives for each token.
struct LogProbs {
  ghost::Tensor log_probs, entropy, mean_logits, is_top1;
};

/// Which of them are wanted beside the log-probabilities.
struct LogProbOutputs {
  bool entropy = false, mean_logits = false, is_top1 = false;
};

/// maybe_gather_lm_head_ctx: a head that ZeRO 3 has cut is whole while what this gives lives. Empty
/// where no head is cut.
using GatherHead = std::function<std::shared_ptr<void>()>;

/// Of `hidden` [N, H] under a head with `weight` [V, H] and `bias` [V] or none. The backward
/// gathers the head by itself, the forward is called with it gathered.
LogProbs chunked_logprob(const ghost::Tensor& hidden, const ghost::Tensor& weight,
                         const ghost::Tensor& bias, const ghost::Tensor& targets,
                         LogProbOutputs outputs, const GatherHead& gather_head = {});

}  // namespace memtape::transformers::trl
