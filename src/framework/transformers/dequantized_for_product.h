// SPDX-License-Identifier: Apache-2.0
// What fused LoRA functions make of a layer's weight for one product: axolotl's dequantize and
// fms-acceleration's fast_dequantize both call bitsandbytes' kernel by itself.
#pragma once

#include "nn/layers.h"

namespace memtape::transformers {

/// The weight itself where it is not quantized. Maxima that are quantized in turn come after it
/// (_ctypes_nf4_dequant) and are gone when the function returns. `op` is the function's name.
ghost::Tensor dequantized_for_product(const nn::Projection& layer, const char* op);

}  // namespace memtape::transformers
