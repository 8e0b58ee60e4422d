// SPDX-License-Identifier: Apache-2.0
#include "predict/engine_beside.h"

#include <fmt/format.h>

#include "framework/dialects.h"

namespace memtape {

std::optional<OutsideMemory> engine_beside(const TrainRecipe& recipe, const DeviceSetup& device) {
  /// CUDA graphs come on top of the share (trl 1.16 asks for them): 1.34 GiB is the most that a
  /// start-up log of tests/truth/serving_logs.jsonl has for a model that trl trains.
  constexpr Bytes kMostGraphs = 1372_MiB;
  const auto share_of = dialect_of(recipe).engine_share;
  const double share = share_of ? share_of(recipe) : 0;
  const std::optional<Bytes> total = device.total_bytes();
  if (share <= 0 || !total) return std::nullopt;
  const auto held = static_cast<Bytes>(static_cast<double>(*total) * share);
  return OutsideMemory{
      .what = fmt::format("the engine beside the training, {:g} of the GPU", share),
      .counted_bytes = held,
      .low_bytes = held,
      .high_bytes = held + kMostGraphs,
      .source = "its own limit, and CUDA graphs on top"};
}

DeviceSetup with_engine_beside(DeviceSetup device, const TrainRecipe& recipe) {
  if (const auto engine = engine_beside(recipe, device))
    device.context_override = device.context_bytes() + engine->counted_bytes;
  return device;
}

}  // namespace memtape
