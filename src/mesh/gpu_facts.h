// SPDX-License-Identifier: Apache-2.0
// GpuFacts: one row of data/gpus.json as it was recorded, before any rule is applied. A figure that
// nobody published is 0 or "". The rows are generated at build time (scripts/embed_data.py).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/bytes.h"

namespace memtape {

struct GpuFacts {
  std::string_view id, name, vendor, architecture;
  int capability_major, capability_minor;
  int sm_count;
  int marketing_gb;
  Bytes visible_bytes;  ///< the total of cudaMemGetInfo, exact
  /// The same cut to MiB, as torch prints device properties; the least that several drivers show.
  std::int64_t visible_mib;
  int visible_centi_gib;  ///< the same rounded to 0.01 GiB, as out-of-memory messages print it
  /// The total of nvidia-smi, which includes what the driver keeps for itself.
  std::int64_t reported_mib;
  std::int64_t context_mib;  ///< a measured CUDA context with PyTorch's modules
  std::string_view visible_source, context_source, notes;
  std::string_view sold_as;  ///< names beside the driver's, with ";" between them: "DGX Spark"
};

namespace data {
std::span<const GpuFacts> gpus();
}

}  // namespace memtape
