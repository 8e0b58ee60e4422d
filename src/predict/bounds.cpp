// SPDX-License-Identifier: Apache-2.0
#include "predict/bounds.h"

#include <fmt/format.h>

#include "base/text.h"

namespace memtape {
namespace {

using namespace literals;

/// CUDA contexts of PyTorch processes that were measured and published range from 256 MiB (RTX
/// 3090, torch 2.7, InvokeAI issue 9413) to 616 MiB (eight-GPU server, LMCache issue 4019), with
/// kernels loaded lazily.
constexpr Bytes kLeastContext = 256_MiB, kMostContext = 616_MiB;

}  // namespace

Bounds bounds_of(const TrainRecipe&, const DeviceSetup& device, const RankReport& rank) {
  Bounds bounds{
      .low_bytes = rank.peak_device_bytes, .high_bytes = rank.peak_device_bytes, .causes = {}};
  const bool context_is_guessed =
      !device.context_bytes && device.gpu && device.gpu->context_certainty != Certainty::exact;
  if (context_is_guessed) {
    bounds.low_bytes = std::min(bounds.low_bytes, rank.peak.reserved + kLeastContext);
    bounds.high_bytes = std::max(bounds.high_bytes, rank.peak.reserved + kMostContext);
    bounds.causes.push_back(
        fmt::format("the CUDA context takes {} to {}, by driver and kernels loaded",
                    human_bytes(kLeastContext), human_bytes(kMostContext)));
  }
  return bounds;
}

}  // namespace memtape
