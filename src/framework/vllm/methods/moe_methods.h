// SPDX-License-Identifier: Apache-2.0
// How quantized experts are held and multiplied: Marlin for packed integers and MXFP4, Triton for
// fp8 (vllm/model_executor/layers/quantization, fused_moe/experts).
#pragma once

#include <memory>

#include "framework/vllm/layers/moe.h"
#include "framework/vllm/methods/scaled.h"
#include "framework/vllm/methods/weight_only.h"

namespace memtape::vllm {

std::shared_ptr<const MoeMethod> packed_experts(const PackedScheme& scheme);
std::shared_ptr<const MoeMethod> scaled_experts(const ScaledScheme& scheme);
std::shared_ptr<const MoeMethod> mxfp4_experts(const Settings& settings);

/// Experts repacked one by one into a new tensor (_repack_marlin_experts): the last expert's
/// scratch goes when the next one's has been made.
Tensor repacked_experts(std::int64_t experts, Bytes each);

/// MarlinExperts: the workspace, the aligned tokens, two products with float32 scratch.
Tensor marlin_experts(Runtime& runtime, const ExpertShape& shape, const Tensor& x);

}  // namespace memtape::vllm
