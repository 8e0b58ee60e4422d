// SPDX-License-Identifier: Apache-2.0
// Levers: what a user of each framework can change to need less memory, in that framework's own
// options, smallest sacrifice first.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "predict/train.h"

namespace memtape {

struct Lever {
  std::vector<std::pair<std::string, std::string>> changes;
  std::string cost;
  bool is_free = false;  ///< kept for the next even where it alone changes nothing
};

/// Of a recipe that is resolved and did not fit. Some may turn out not to be possible together, or
/// to change nothing: whoever pulls them has to look.
std::vector<Lever> levers_of(const TrainRecipe& recipe, const Prediction& failing);

}  // namespace memtape
