// SPDX-License-Identifier: Apache-2.0
// torchtitan's losses (components/loss.py): cross entropy of float32 logits, as ops of their own,
// in chunks of the sequence, or compiled.
#pragma once

#include "framework/torchtitan/job_config.h"
#include "ghost/tensor.h"

namespace memtape::torchtitan {

/// Of logits [B, S, V] (or this GPU's part of V) against labels [B, S].
ghost::Tensor loss_of(const ghost::Tensor& logits, const ghost::Tensor& labels,
                      const JobConfig& job);

}  // namespace memtape::torchtitan
