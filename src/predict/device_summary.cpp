// SPDX-License-Identifier: Apache-2.0
#include "predict/device_summary.h"

#include <fmt/format.h>

namespace memtape {

std::optional<DeviceSummary> device_summary(const DeviceSetup& device) {
  const std::optional<Bytes> total = device.total_bytes();
  if (!total) return std::nullopt;
  const std::optional<Gpu>& gpu = device.gpu;
  DeviceSummary summary;
  summary.total_bytes = *total;
  summary.context_bytes = device.context_bytes();
  if (gpu) {
    summary.name = gpu->name;
    summary.id = gpu->id;
  }
  summary.source = fmt::format("total: {}; context: {}",
                               device.total_override ? "--gpu-memory-bytes" : gpu->total_source,
                               device.context_override ? "--context-bytes"
                               : gpu                   ? gpu->context_source
                                                       : "none named");
  return summary;
}

}  // namespace memtape
