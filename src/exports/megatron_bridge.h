// SPDX-License-Identifier: Apache-2.0
// Megatron-Bridge: a plan as overrides of one of its recipes, and adapters, which pretrain_gpt.py
// has not, as the recipe that has them (scripts/training/run_recipe.py).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "exports/parts.h"
#include "model/config.h"

namespace memtape::exports {

/// A line for each field of ConfigContainer.
File bridge_overrides(const Config& c, const Training& plan);

/// What a recipe with adapters is told beside the sizes.
struct BridgeAdapters {
  std::int64_t rank = 0;
  double dropout = 0;
  std::vector<std::string> modules;
  bool fuses_loss = false, distributes_optimizer = false, float32_gradients = false;
  bool packs = false;  ///< micro-batches of one row, which may be packed
};

Result<Export> export_bridge(const Training& plan, const Facts& facts, const Config& c,
                             const BridgeAdapters& adapters);

}  // namespace memtape::exports
