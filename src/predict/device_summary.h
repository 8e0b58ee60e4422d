// SPDX-License-Identifier: Apache-2.0
// The device as an answer names it, and where its two figures come from.
#pragma once

#include <optional>

#include "mesh/gpu_catalog.h"
#include "outcome/answer_parts.h"

namespace memtape {

/// --gpu-memory-bytes and --context-bytes, which replace the catalog's figures.
struct DeviceOverrides {
  std::optional<Bytes> total, context;
};

/// Empty if neither a GPU nor a total was named.
std::optional<DeviceSummary> device_summary(const std::optional<Gpu>& gpu,
                                            const DeviceOverrides& overrides);

}  // namespace memtape
