// SPDX-License-Identifier: Apache-2.0
// OnlineLoading: when a release quantizes a 16-bit checkpoint that `--quantization fp8` serves, and
// what of the 16-bit weights is on the device until then. The result is the same; the peak while
// loading is not (model_executor/layers/quantization/fp8.py, since 0.20 also online/fp8.py).
#pragma once

#include <cstdint>
#include <span>

#include "framework/vllm/settings.h"

namespace memtape::vllm {

enum class OnlineLoading : std::uint8_t {
  /// All weights are made in 16 bits. When all are loaded, layer by layer is quantized and lets its
  /// 16-bit weights go (process_weights_after_loading).
  whole,
  /// All weights are made in 16 bits, and a layer is quantized once it is loaded. `load_weights` of
  /// the model refers to every 16-bit weight (params_dict) until it returns, so that all of them
  /// and all of the quantized ones are there together.
  beside,
  /// Weights are made on the meta device. A layer's 16-bit weights come to life when it is loaded,
  /// and go when it is quantized.
  streamed,
};

OnlineLoading online_loading(const Settings& settings);

/// With OnlineLoading::beside: whether the loader sees that a layer is complete, and so quantizes
/// it, before all others are loaded. `wanted` is the number of elements on this rank, and `loaded`
/// are those of the checkpoint's tensors, in turn. 0.13 adds these up whole, although a rank takes
/// a part of them, and compares for equality.
bool is_seen_complete(const Settings& settings, std::int64_t wanted,
                      std::span<const std::int64_t> loaded);

}  // namespace memtape::vllm
