// SPDX-License-Identifier: Apache-2.0
#include "predict/release_bounds.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "base/text.h"
#include "predict/recipe_excess.h"
#include "predict/releases_meant.h"
#include "release/recorded_pairs.h"

namespace memtape {
namespace {

TrainRecipe with_pair(TrainRecipe recipe, const RecordedPair& pair) {
  recipe.release.set(Package::torch, pair.torch);
  recipe.release.set(Package::transformers, pair.transformers);
  return recipe;
}

struct LargestChange {
  Bytes bytes = 0;
  RecordedPair before, after;
};

/// Pairs under which the step cannot be run (a family that was not there yet) tell nothing.
LargestChange largest_change(const Config& config, const TrainRecipe& recipe,
                             const DeviceSetup& device) {
  LargestChange largest{.bytes = 0, .before = kRecordedPairs.front(), .after = {}};
  for (std::size_t i = 0; i + 1 < kRecordedPairs.size(); ++i) {
    const RecordedPair &before = kRecordedPairs[i], &after = kRecordedPairs[i + 1];
    const Result<Bytes> excess =
        excess_over(config, with_pair(recipe, before), with_pair(recipe, after), device);
    if (!excess) continue;
    const Bytes change = std::abs(*excess);
    if (change >= largest.bytes) largest = {change, before, after};
  }
  return largest;
}

}  // namespace

void widen_by_releases(Bounds& bounds, const Config& config, const TrainRecipe& recipe,
                       const DeviceSetup& device) {
  if (release_warnings(recipe).empty()) return;
  const LargestChange largest = largest_change(config, recipe, device);
  if (largest.bytes == 0) {
    bounds.causes.emplace_back(
        "a release that is not known is meant: between known ones this step did not change");
    return;
  }
  bounds.low_bytes -= largest.bytes;
  bounds.high_bytes += largest.bytes;
  bounds.causes.push_back(fmt::format(
      "a release that is not known is meant: between known ones this step changed by at most {} "
      "(torch {} and transformers {} to {} and {})",
      human_bytes(largest.bytes), largest.before.torch.text(), largest.before.transformers.text(),
      largest.after.torch.text(), largest.after.transformers.text()));
}

}  // namespace memtape
