// SPDX-License-Identifier: Apache-2.0
#include "mesh/gpu_speeds.h"

namespace memtape {

GpuSpeeds speeds_of(std::string_view id) {
  for (const GpuSpeeds& speeds : data::gpu_speeds())
    if (speeds.id == id) return speeds;
  return {};
}

}  // namespace memtape
