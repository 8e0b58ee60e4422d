// SPDX-License-Identifier: Apache-2.0
// The samplers before the V2 runner (vllm/v1/sample/sampler.py and ops/topk_topp_sampler.py, and
// V0's model_executor/layers/sampler.py, which does the same): top-k and top-p by sorting every row
// of logits in float32, in the newest versions in place by Triton (ops/topk_topp_triton.py). The
// dummy run of the profile asks for both, and with many requests sorting is the most that a
// start-up takes.
#pragma once

#include "framework/vllm/runtime.h"

namespace memtape::vllm {

void sample_by_sorting(const Tensor& logits);

/// Gives the kernel's buffer, of a row of float32 logits for each of its programs, which stays.
Tensor sample_in_place(const Tensor& logits, std::int64_t sm_count);

}  // namespace memtape::vllm
