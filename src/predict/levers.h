// SPDX-License-Identifier: Apache-2.0
// Levers: the options of each framework that lower the memory of a step, from the smallest
// sacrifice to the largest.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "predict/train.h"

namespace memtape {

struct Lever {
  std::vector<std::pair<std::string, std::string>> changes;
  std::string cost;
  bool is_free = false;  ///< kept for the next levers even if it changes nothing by itself
};

/// The levers of a resolved recipe that did not fit. Some may exclude each other or change nothing:
/// the caller must try them.
std::vector<Lever> levers_of(const TrainRecipe& recipe, const Prediction& failing);

}  // namespace memtape
