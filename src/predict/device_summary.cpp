// SPDX-License-Identifier: Apache-2.0
#include "predict/device_summary.h"

#include <fmt/format.h>

namespace memtape {

std::optional<DeviceSummary> device_summary(const std::optional<Gpu>& gpu,
                                            const DeviceOverrides& overrides) {
  if (!overrides.total && !gpu) return std::nullopt;
  DeviceSummary summary;
  summary.total_bytes = overrides.total ? *overrides.total : gpu->total_bytes;
  summary.context_bytes = overrides.context.value_or(gpu ? gpu->context_bytes : 0);
  if (gpu) {
    summary.name = gpu->name;
    summary.id = gpu->id;
  }
  summary.source = fmt::format("total: {}; context: {}",
                               overrides.total ? "--gpu-memory-bytes" : gpu->total_source,
                               overrides.context ? "--context-bytes"
                               : gpu             ? gpu->context_source
                                                 : "none named");
  return summary;
}

}  // namespace memtape
