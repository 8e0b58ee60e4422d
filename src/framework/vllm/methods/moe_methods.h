// SPDX-License-Identifier: Apache-2.0
// How quantized experts are held and multiplied: by Marlin for packed integers and MXFP4, and by
// Triton for fp8 (vllm/model_executor/layers/quantization, fused_moe/experts).
#pragma once

#include <memory>

#include "framework/vllm/layers/moe.h"
#include "framework/vllm/methods/scaled.h"
#include "framework/vllm/methods/weight_only.h"

namespace memtape::vllm {

std::shared_ptr<const MoeMethod> packed_experts(const PackedScheme& scheme);
std::shared_ptr<const MoeMethod> scaled_experts(const ScaledScheme& scheme);
/// gpt-oss has biases, DeepSeek V4 has none.
std::shared_ptr<const MoeMethod> mxfp4_experts(const Settings& settings, bool has_bias);

/// Repacks experts one by one into a new tensor (_repack_marlin_experts). The scratch memory of an
/// expert is freed when that of the next one has been made.
Tensor repacked_experts(std::int64_t experts, Bytes each);

/// MarlinExperts: takes the workspace, the aligned tokens, and two products with float32 scratch
/// memory.
Tensor marlin_experts(Runtime& runtime, const ExpertShape& shape, const Tensor& x);

}  // namespace memtape::vllm
