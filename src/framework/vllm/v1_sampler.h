// SPDX-License-Identifier: Apache-2.0
// The samplers before the V2 runner (vllm/v1/sample/sampler.py and ops/topk_topp_sampler.py, and
// model_executor/layers/sampler.py of V0, which does the same). They apply top-k and top-p by
// sorting every row of logits in float32; the newest versions do it in place by Triton
// (ops/topk_topp_triton.py). The dummy run of the profile asks for both, and if there are many
// requests, sorting takes more memory than anything else in a start-up.
#pragma once

#include "framework/vllm/runtime.h"

namespace memtape::vllm {

void sample_by_sorting(const Tensor& logits);

/// apply_top_k_top_p_triton: the buffer of the kernel, which is kept. It has a row of float32 logits
/// for each of the kernel's programs.
Tensor mask_in_place(const Tensor& logits, std::int64_t sm_count);

/// Returns that buffer.
Tensor sample_in_place(const Tensor& logits, std::int64_t sm_count);

}  // namespace memtape::vllm
