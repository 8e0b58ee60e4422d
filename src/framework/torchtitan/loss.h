// SPDX-License-Identifier: Apache-2.0
// torchtitan's losses (components/loss.py): the cross entropy of float32 logits, either as separate
// ops, in chunks of the sequence, or compiled.
#pragma once

#include "framework/torchtitan/job_config.h"
#include "ghost/tensor.h"

namespace memtape::torchtitan {

/// The loss of logits [B, S, V] (or of this GPU's part of V) and labels [B, S].
ghost::Tensor loss_of(const ghost::Tensor& logits, const ghost::Tensor& labels,
                      const JobConfig& job);

}  // namespace memtape::torchtitan
