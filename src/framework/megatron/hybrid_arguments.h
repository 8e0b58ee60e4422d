// SPDX-License-Identifier: Apache-2.0
// --hybrid-layer-pattern "M-M*|M-M*/MM/MM": there is one letter for each layer, bars separate
// pipeline stages, and each part after a slash says what the prediction of one further token runs
// (megatron/core/models/hybrid/hybrid_layer_allocation.py).
#pragma once

#include "framework/megatron/arguments.h"

namespace memtape::megatron {

/// Reads the pattern if it is given: the letters, the number of layers and Mamba's sizes. `layout`
/// receives the stages as --pipeline-model-parallel-layout would describe them; it is empty if the
/// pattern has no bars.
Result<void> read_hybrid(const Config& config, Arguments& arguments, std::string& layout);

}  // namespace memtape::megatron
