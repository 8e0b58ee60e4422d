// SPDX-License-Identifier: Apache-2.0
#include "predict/outside.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "framework/dialects.h"
#include "predict/engine_beside.h"

namespace memtape {
namespace {

/// CUDA contexts of PyTorch processes that were measured and published range from 256 MiB (RTX
/// 3090, torch 2.7, InvokeAI issue 9413) to 616 MiB (eight-GPU server, LMCache issue 4019), with
/// kernels loaded lazily.
constexpr Bytes kLeastContext = 256_MiB, kMostContext = 616_MiB;

struct Sizes {
  std::int64_t tp, pp, cp, ep;
};

Sizes sizes_of(const TrainRecipe& recipe) {
  const LayoutRecipe& layout = recipe.layout;
  const bool only_dp = layout.dp.has_value();
  const MeshAxis all = dialect_of(recipe).spreads_over;
  const auto size = [&](const std::optional<std::int64_t>& said, MeshAxis axis) {
    return said.value_or(axis == all && !only_dp ? layout.gpus : 1);
  };
  return {.tp = size(layout.tp, MeshAxis::tensor),
          .pp = size(layout.pp, MeshAxis::pipeline),
          .cp = size(layout.cp, MeshAxis::context),
          .ep = layout.ep.value_or(1)};
}

/// Of the device with an engine on it.
DeviceSetup without(const std::optional<OutsideMemory>& engine, DeviceSetup device) {
  if (!engine || device.context_override < engine->counted_bytes) return device;
  *device.context_override -= engine->counted_bytes;
  if (device.gpu && device.context_override == device.gpu->context_bytes)
    device.context_override.reset();
  return device;
}

OutsideMemory context(const DeviceSetup& device) {
  const bool is_known =
      device.context_override || !device.gpu || device.gpu->context_certainty == Certainty::exact;
  const Bytes counted = device.context_bytes();
  OutsideMemory item{.what = "the CUDA context",
                     .counted_bytes = counted,
                     .low_bytes = counted,
                     .high_bytes = counted,
                     .source = device.context_override ? "--context-bytes"
                               : device.gpu            ? device.gpu->context_source
                                                       : "no device is named"};
  if (is_known) return item;
  item.low_bytes = std::min(item.low_bytes, kLeastContext);
  item.high_bytes = std::max(item.high_bytes, kMostContext);
  return item;
}

}  // namespace

std::vector<Communicator> communicators(const TrainRecipe& recipe) {
  if (recipe.layout.replicas > 1)  // torch/csrc/cuda/nccl.cpp: broadcast, reduce
    return {{"nn.DataParallel", recipe.layout.replicas, Traffic::collective}};
  if (recipe.layout.gpus < 2) return {};
  const Sizes sizes = sizes_of(recipe);
  const std::int64_t model_parallel = sizes.tp * sizes.pp * sizes.cp;
  std::vector<Communicator> found;
  const auto add = [&](const char* name, std::int64_t ranks, Traffic traffic) {
    if (ranks > 1) found.push_back({name, ranks, traffic});
  };
  // Shards of the model lie over data and context parallel ranks alike.
  add("dp", recipe.layout.gpus / std::max<std::int64_t>(1, sizes.tp * sizes.pp),
      Traffic::collective);
  if (model_parallel < recipe.layout.gpus) add("cp", sizes.cp, Traffic::collective);
  add("tp", sizes.tp, Traffic::collective);
  add("pp", sizes.pp, Traffic::neighbours);
  add("ep", sizes.ep, Traffic::all_to_all);
  return found;
}

std::vector<OutsideMemory> outside_memory(const TrainRecipe& recipe, const DeviceSetup& device) {
  std::vector<OutsideMemory> items;
  const std::optional<OutsideMemory> engine = engine_beside(recipe, device);
  if (device.gpu || device.context_override) items.push_back(context(without(engine, device)));
  if (engine) items.push_back(*engine);
  const int capability = device.gpu ? device.gpu->capability_major : 8;
  for (const Communicator& one : communicators(recipe)) {
    const MemoryRange range = nccl_memory(one, capability);
    items.push_back({.what = fmt::format("NCCL for {} of {} ranks", one.name, one.ranks),
                     .counted_bytes = 0,
                     .low_bytes = range.low,
                     .high_bytes = range.high,
                     .source = "NCCL 2.30: 12 MiB a connection and channel, 2 to 32 channels"});
  }
  return items;
}

Bytes surely_left(Bytes total, const TrainRecipe& recipe, const DeviceSetup& device) {
  for (const OutsideMemory& item : outside_memory(recipe, device)) total -= item.high_bytes;
  return total;
}

}  // namespace memtape
