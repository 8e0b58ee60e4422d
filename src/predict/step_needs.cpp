// SPDX-License-Identifier: Apache-2.0
#include "predict/step_needs.h"

#include <algorithm>

#include "base/given_up.h"
#include "predict/bounds.h"
#include "predict/compiled_bounds.h"
#include "predict/evaluation_bounds.h"
#include "predict/program.h"
#include "predict/rank_runs.h"
#include "predict/verdict.h"

namespace memtape {
namespace {

/// What has no bounds has no answer.
Result<void> check_bounds(const ModelRequest& model, const TrainRecipe& recipe,
                          const DeviceSetup& device, const RankReport& fullest) {
  Bounds unused;
  if (const auto done =
          widen_by_compile(unused, model.config, recipe, {.device = device, .rank = fullest});
      !done)
    return done;
  return widen_by_evaluation(unused, model.config, recipe, device);
}

Bytes held_of(const RankReport& rank, const DeviceSetup& device) {
  const Bytes at_peak = rank.at_peak[Category::parameter] + rank.at_peak[Category::buffer] +
                        rank.at_peak[Category::optimizer_state];
  return std::min(at_peak, rank.steady.allocated) + device.context_bytes();
}

}  // namespace

Result<StepNeeds> needs_of(const ModelRequest& model, const TrainRecipe& asked,
                           const DeviceSetup& device) {
  const Result<TrainRecipe> recipe = resolved(asked, model.config);
  if (!recipe) return tl::unexpected(recipe.error());
  std::vector<RankReport> ranks;
  const Result<FullestRank> fullest =
      run_ranks(model.config, *recipe, device, {.largest = 0}, kMeasuredStep, ranks);
  if (!fullest) return tl::unexpected(fullest.error());
  if (is_given_up())
    return bad_input("nobody waits for this answer any more", "the step", "ask again");
  const RankReport& rank = *std::ranges::max_element(ranks, {}, &RankReport::peak_device_bytes);
  if (const auto fine = check_bounds(model, *recipe, device, rank); !fine)
    return tl::unexpected(fine.error());
  StepNeeds needs{.peak = rank.peak_device_bytes, .needed = rank.peak_device_bytes};
  needs.held = held_of(rank, device);
  const DeviceMemory memory{.total = *device.total_bytes(), .outside = device.context_bytes()};
  if (fullest->play.highest.requested > memory.total - memory.outside) return needs;
  const Verdict found = verdict(fullest->run.tape, device, memory, fullest->play, kMeasuredStep);
  const Bytes held = memory.total - found.headroom_bytes;
  needs.fits = found.fits;
  needs.gives_back = found.gives_back && held != needs.peak;
  if (needs.gives_back) needs.needed = held;
  return needs;
}

}  // namespace memtape
