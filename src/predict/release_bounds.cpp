// SPDX-License-Identifier: Apache-2.0
#include "predict/release_bounds.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

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

/// The largest change of the peak between neighbouring pairs. Pairs of releases under which the
/// step cannot run, for example because the family did not exist, are skipped: they say nothing
/// about the size of a change.
LargestChange largest_change(const Config& config, const TrainRecipe& recipe,
                             const DeviceSetup& device) {
  LargestChange largest{.bytes = 0, .before = kRecordedPairs.front(), .after = {}};
  std::optional<Bytes> reserved_before;
  for (std::size_t i = 0; i < kRecordedPairs.size(); ++i) {
    const Result<Bytes> reserved =
        reserved_by(config, with_pair(recipe, kRecordedPairs[i]), device);
    if (reserved && reserved_before) {
      const Bytes change = std::abs(*reserved - *reserved_before);
      if (change >= largest.bytes) largest = {change, kRecordedPairs[i - 1], kRecordedPairs[i]};
    }
    reserved_before = reserved ? std::optional(*reserved) : std::nullopt;
  }
  return largest;
}

/// Nobody here has seen what a release before the oldest known one does where its rules differ.
void open_above_old_releases(Bounds& bounds, const TrainRecipe& recipe) {
  for (const Package package : packages_of(recipe)) {
    const PackageFacts& facts = facts_of(package);
    if (recipe.release.of(package) >= facts.oldest) continue;
    bounds.has_upper_end = false;
    bounds.causes.push_back(fmt::format(
        "no rule of {} {} is known: what it did by default is best said with --attention, "
        "--precision and --gradient-checkpointing, and what else it did is not bounded",
        facts.name, recipe.release.of(package).text()));
  }
}

}  // namespace

void widen_by_releases(Bounds& bounds, const Config& config, const TrainRecipe& recipe,
                       const DeviceSetup& device) {
  if (release_warnings(recipe).empty()) return;
  open_above_old_releases(bounds, recipe);
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
