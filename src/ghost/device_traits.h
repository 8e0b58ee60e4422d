// SPDX-License-Identifier: Apache-2.0
// What the host code of kernels asks about the GPU on which a program is assumed to run. If no GPU
// is named, kernels choose as on an A100.
#pragma once

#include <optional>

#include "ghost/session.h"
#include "mesh/gpu_catalog.h"

namespace memtape {

inline ghost::DeviceTraits device_traits(const std::optional<Gpu>& gpu) {
  ghost::DeviceTraits traits;
  if (!gpu) return traits;
  traits.major = gpu->capability_major;
  traits.minor = gpu->capability_minor;
  traits.sm_count = gpu->sm_count;
  return traits;
}

}  // namespace memtape
