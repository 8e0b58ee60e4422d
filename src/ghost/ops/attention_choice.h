// SPDX-License-Identifier: Apache-2.0
// Which kernel scaled_dot_product_attention takes. It tries flash attention, then memory-efficient
// attention, then plain math, and takes the first whose conditions hold
// (aten/src/ATen/native/transformers/cuda/sdp_utils.cpp, torch 2.11).
#pragma once

#include "ghost/ops/attention.h"
#include "ghost/session.h"

namespace memtape::ghost {

enum class AttentionBackend { flash, efficient, math };

/// select_sdp_backend, with cuDNN's attention turned off.
AttentionBackend choose_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                  const Tensor& mask, const AttentionOptions& options);

/// Whether torch would ask cuDNN first on this device, unless it is told otherwise
/// (check_prefer_cudnn_attention). If so, a run with default settings differs from what
/// choose_attention says wherever cuDNN takes the shapes.
bool prefers_cudnn_attention(const DeviceTraits& device);

}  // namespace memtape::ghost
