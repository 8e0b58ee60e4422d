// SPDX-License-Identifier: Apache-2.0
// DeviceSetup: the GPUs of a program, which are all of one kind, and what was said of them beside
// the catalog's figures. Without a GPU there is no verdict, and kernels choose as they do on an
// A100.
#pragma once

#include <optional>

#include "allocator/allocator_config.h"
#include "allocator/driver.h"
#include "base/bytes.h"
#include "mesh/gpu_catalog.h"

namespace memtape {

struct DeviceSetup {
  std::optional<Gpu> gpu;
  std::optional<Bytes> total_override, context_override;  ///< --gpu-memory-bytes, --context-bytes
  int gpus = 1;                                           ///< of a server
  DriverPlacement placement = DriverPlacement::linux_regions;
  AllocatorConfig allocator;

  /// What the driver gives a program. It is nothing if no GPU was named.
  std::optional<Bytes> total_bytes() const {
    if (total_override) return total_override;
    return gpu ? std::optional(gpu->total_bytes) : std::nullopt;
  }
  /// What is taken outside the allocator: the CUDA context and its modules.
  Bytes context_bytes() const { return context_override.value_or(gpu ? gpu->context_bytes : 0); }
};

}  // namespace memtape
