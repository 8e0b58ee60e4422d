// SPDX-License-Identifier: Apache-2.0
#include "answer/device_options.h"

#include <fmt/format.h>

#include "answer/counted_gpu.h"
#include "base/typed_number.h"
#include "option/value.h"

namespace memtape::answer {
namespace {

Result<std::optional<Bytes>> bytes_option(OptionValues values, std::string_view name) {
  const std::string* text = last_value(values, name);
  if (!text) return std::nullopt;
  constexpr option::Whole kBytes{
      .least = 0, .most = std::int64_t{1} << 62, .unit = option::Unit::bytes};
  return option::read_whole(name, *text, kBytes);
}

/// PYTORCH_ALLOC_CONF, or the older PYTORCH_CUDA_ALLOC_CONF.
Result<AllocatorConfig> allocator_of(OptionValues environment, const Outside& outside) {
  for (const char* name : {"PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"}) {
    if (const std::string* text = last_value(environment, name))
      return AllocatorConfig::parse(*text);
    if (const auto text = outside.variable(name)) return AllocatorConfig::parse(*text);
  }
  return AllocatorConfig{};
}

}  // namespace

Result<DeviceSetup> device_of(OptionValues values, OptionValues environment,
                              const Outside& outside) {
  DeviceSetup device;
  if (const std::string* name = last_value(values, "gpu")) {
    // Otherwise the number was taken for --gpus.
    if (const auto count = counted_name(*name).count)
      return bad_input(
          *count < 1 ? fmt::format("\"{}\" counts none", *name)
                     : fmt::format("{} are {} GPUs, and --gpus says another number", *name, *count),
          "--gpu", *count < 1 ? "as in 8xh100-80gb" : "one of the two");
    Result<Gpu> gpu = find_gpu(*name);
    if (!gpu) return tl::unexpected(gpu.error());
    device.gpu = std::move(*gpu);
  }
  const auto total = bytes_option(values, "gpu-memory-bytes"),
             context = bytes_option(values, "context-bytes");
  if (!total) return tl::unexpected(total.error());
  if (!context) return tl::unexpected(context.error());
  if (*total && is_without_unit(**total)) return no_unit("gpu-memory-bytes", **total);
  device.total_override = *total;
  device.context_override = *context;
  if (const std::string* name = last_value(values, "driver-placement")) {
    const Result<DriverPlacement> placement = driver_placement_from_name(*name);
    if (!placement) return tl::unexpected(placement.error());
    device.placement = *placement;
  }
  const Result<AllocatorConfig> allocator = allocator_of(environment, outside);
  if (!allocator) return tl::unexpected(allocator.error());
  device.allocator = *allocator;
  return device;
}

}  // namespace memtape::answer
