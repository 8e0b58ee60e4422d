// SPDX-License-Identifier: Apache-2.0
// fms-acceleration's fused LoRA functions over bitsandbytes' 4-bit layers (fms_acceleration_foak
// 0.4, fused_ops/unsloth_lora/bnb/fast_lora.py). Unlike axolotl's, each projection has a dropout of
// its own, which runs inside the function: what it leaves is kept, and its mask is not.
#pragma once

#include <span>
#include <vector>

#include "nn/layers.h"

namespace memtape::transformers::fms_acceleration {

using ghost::Tensor;

/// get_lora_parameters of a projection.
struct AdaptedProjection {
  const nn::Projection* layer = nullptr;
  Tensor A, B;
  nn::Dropout* dropout = nullptr;  ///< null if it is an identity
};

/// LoRA_QKV: the three projections of one input [B, S, H]. Backward writes the input's gradient
/// over the input.
std::vector<Tensor> lora_qkv(const Tensor& x, std::span<const AdaptedProjection> projections);

/// LoRA_W: one projection.
Tensor lora_w(const Tensor& x, const AdaptedProjection& projection);

}  // namespace memtape::transformers::fms_acceleration
