// SPDX-License-Identifier: Apache-2.0
// What nvidia-smi prints as a GPU's total memory: some programs size themselves by it, though it
// includes what the driver keeps for itself.
#pragma once

#include "mesh/gpu_catalog.h"

namespace memtape {

/// 0 where it is not known.
Bytes reported_bytes(const Gpu& gpu);

}  // namespace memtape
