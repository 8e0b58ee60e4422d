// SPDX-License-Identifier: Apache-2.0
// ChunkedLogProbFunction of trl 1.16 (kernels/chunked_logprob.py): log-probabilities of the labels
// without whole logits. It computes tiles of 4,096 tokens by 32,768 entries of the vocabulary, and
// backward computes them again. Gradients are summed in float32.
#pragma once

#include <functional>
#include <memory>

#include "ghost/tensor.h"

namespace memtape::transformers::trl {

/// What it returns for each token.
struct LogProbs {
  ghost::Tensor log_probs, entropy, mean_logits, is_top1;
};

/// Which of these are needed in addition to the log-probabilities.
struct LogProbOutputs {
  bool entropy = false, mean_logits = false, is_top1 = false;
};

/// maybe_gather_lm_head_ctx: a head that ZeRO 3 has partitioned is whole as long as the returned
/// object lives. The function is empty if no head is partitioned.
using GatherHead = std::function<std::shared_ptr<void>()>;

/// The results for `hidden` [N, H] and a head with `weight` [V, H] and a `bias` [V], which may be
/// undefined. The backward gathers the head itself; for the forward, the caller has gathered it.
LogProbs chunked_logprob(const ghost::Tensor& hidden, const ghost::Tensor& weight,
                         const ghost::Tensor& bias, const ghost::Tensor& targets,
                         LogProbOutputs outputs, const GatherHead& gather_head = {});

}  // namespace memtape::transformers::trl
