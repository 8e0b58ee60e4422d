// SPDX-License-Identifier: Apache-2.0
#include "mesh/reported_memory.h"

#include <algorithm>

#include "mesh/gpu_facts.h"

namespace memtape {

Bytes reported_bytes(const Gpu& gpu) {
  constexpr int kMiB = 20;
  const std::span<const GpuFacts> gpus = data::gpus();
  const auto row =
      std::ranges::find_if(gpus, [&](const auto& facts) { return facts.id == gpu.id; });
  return row == gpus.end() ? 0 : Bytes{row->reported_mib} << kMiB;
}

}  // namespace memtape
