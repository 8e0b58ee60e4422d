// SPDX-License-Identifier: Apache-2.0
// Which of two ways bitsandbytes 0.50 takes for a product with a 4-bit weight
// (backends/cuda/ops.py, _gemm_4bit_use_custom_cuda): its own kernel, which takes no memory, or a
// dequantized weight and a plain product.
#pragma once

#include <cstdint>

#include "base/dtype.h"
#include "ghost/session.h"

namespace memtape::transformers {

/// Whether bitsandbytes' own kernel computes [rows, in] x [out, in] with an input of `dtype`.
bool uses_gemm_4bit_kernel(const ghost::DeviceTraits& device, DType dtype, std::int64_t rows,
                           std::int64_t out, std::int64_t in);

}  // namespace memtape::transformers
