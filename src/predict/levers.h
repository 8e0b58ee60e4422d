// SPDX-License-Identifier: Apache-2.0
// Levers: the options of each framework that lower the memory of a step, from the smallest
// sacrifice to the largest.
#pragma once

#include <vector>

#include "framework/torch/lever.h"
#include "predict/train.h"

namespace memtape {

struct Levers {
  std::vector<Lever> all;
  /// From here on less lies between steps, too: smaller states, offloading, adapters.
  std::size_t first_holding_less = 0;
  /// From here on sequences get shorter: what lies between steps stays as it is.
  std::size_t first_shorter = 0;
};

/// The levers of a resolved recipe that did not fit. Some may exclude each other or change nothing:
/// the caller must try them.
Levers levers_of(const TrainRecipe& recipe, const Prediction& failing);

}  // namespace memtape
