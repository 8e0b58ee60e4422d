// SPDX-License-Identifier: Apache-2.0
// --hybrid-layer-pattern "M-M*|M-M*/MM/MM": a letter a layer, bars between pipeline stages, and
// behind slashes what each further token's prediction runs
// (megatron/core/models/hybrid/hybrid_layer_allocation.py).
#pragma once

#include "framework/megatron/arguments.h"

namespace memtape::megatron {

/// Reads it where it is given: the letters, the layers there are, Mamba's sizes. `layout` becomes
/// the stages as --pipeline-model-parallel-layout would say them, empty without bars.
Result<void> read_hybrid(const Config& config, Arguments& arguments, std::string& layout);

}  // namespace memtape::megatron
