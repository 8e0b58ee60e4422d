// SPDX-License-Identifier: Apache-2.0
// The samplers before the V2 runner (vllm/v1/sample/sampler.py and ops/topk_topp_sampler.py, and
// V0's model_executor/layers/sampler.py, which does the same): top-k and top-p by sorting every row
// of logits in float32. The dummy run of the profile asks for both, and with many requests it is
// the most that a start-up takes.
#pragma once

#include "framework/vllm/runtime.h"

namespace memtape::vllm {

void sample_from(const Tensor& logits);

}  // namespace memtape::vllm
