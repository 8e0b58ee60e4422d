// SPDX-License-Identifier: Apache-2.0
// Which GPU is meant by a name: the catalog's id, the driver's name, or a name that it is sold under
// ("DGX Spark", "A100 PCIe 80GB"), in any case, spacing and order of words.
#pragma once

#include <string>
#include <string_view>

#include "mesh/gpu_facts.h"

namespace memtape {

/// The one GPU that is meant, or null: none is, or several are.
const GpuFacts* gpu_named(std::string_view name);

/// What to say of a name that means none: those that it may mean, or the nearest.
std::string suggestion_for_gpu(std::string_view name);

}  // namespace memtape
