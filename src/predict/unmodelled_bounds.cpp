// SPDX-License-Identifier: Apache-2.0
#include "predict/unmodelled_bounds.h"

#include <algorithm>

#include <fmt/format.h>

#include "workload/train_recipe.h"

namespace memtape {

void widen_by_not_modelled(Bounds& bounds, const TrainRecipe& recipe, const RankReport& rank) {
  const std::size_t count = recipe.not_modelled.size();
  if (count == 0) return;
  const Bytes step = rank.peak.reserved - std::min(rank.steady.allocated, rank.peak.reserved);
  bounds.low_bytes -= step;
  bounds.high_bytes += step;
  bounds.causes.push_back(
      count == 1 ? std::string("what one setting does is not modelled: from what stays between "
                               "steps to twice what a step adds")
                 : fmt::format("what {} settings do is not modelled: from what stays between steps "
                               "to twice what a step adds",
                               count));
}

}  // namespace memtape
