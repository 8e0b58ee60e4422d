// SPDX-License-Identifier: Apache-2.0
// What nvidia-smi prints as a GPU's total memory. Some programs choose their sizes by it, although
// it includes what the driver keeps for itself.
#pragma once

#include "mesh/gpu_catalog.h"

namespace memtape {

/// It is 0 if it is not known.
Bytes reported_bytes(const Gpu& gpu);

}  // namespace memtape
