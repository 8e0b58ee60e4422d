// SPDX-License-Identifier: Apache-2.0
#include "plan/confirm.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "framework/train_arguments.h"
#include "predict/device_summary.h"
#include "predict/outside.h"
#include "predict/program.h"
#include "predict/settings.h"
#include "report/headline.h"

namespace memtape::plan {
namespace {

/// After the first micro-batches cached blocks lie elsewhere, but few are new: of 18 layouts of
/// dense models and mixtures that ran with 8 to 24 micro-batches and with 64 to 256, the reserved
/// bytes lie 0.12 GiB apart at most.
constexpr Bytes kFewerIsOff = Bytes{256} << 20;

}  // namespace

Result<TrainRecipe> Confirmation::recipe(const Reading& reading, const NamedValues& layout) const {
  return reading.read(with_changes(reading.values, layout));
}

Bytes Confirmation::surely_there(const TrainRecipe& layout) const {
  return surely_left(device_.total_bytes().value_or(std::numeric_limits<Bytes>::max()), layout,
                     device_);
}

Result<Confirmed> Confirmation::all_ranks(const Reading& reading, const NamedValues& layout,
                                          Sequences sequences, std::optional<Bytes> at_most) const {
  const Result<TrainRecipe> asked = recipe(reading, layout);
  if (!asked) return tl::unexpected(asked.error());
  return ask_of(*asked, sequences,
                {.until_too_large = at_most.has_value(), .at_most = at_most, .workers = workers_},
                device_);
}

std::vector<Result<Confirmed>> Confirmation::until_too_large(std::span<const Asked> layouts,
                                                             bool until_tight) const {
  std::vector<std::optional<Result<Confirmed>>> found(layouts.size());
  const bool is_for_each = layouts.size() < workers_.count;
  workers_.share(layouts.size(), [&](std::size_t, std::size_t at) {
    const Result<TrainRecipe>& recipe = layouts[at].layout;
    const PredictOptions options{.until_too_large = true,
                                 .until_tight = until_tight,
                                 .likely_stage = layouts[at].likely_stage,
                                 .workers = is_for_each ? workers_ : Workers()};
    if (!recipe)
      found[at] = tl::unexpected(recipe.error());
    else
      found[at] = after_fewer(layouts[at], options);
  });
  std::vector<Result<Confirmed>> all;
  for (std::optional<Result<Confirmed>>& one : found) all.push_back(std::move(*one));
  return all;
}

Result<Confirmed> Confirmation::one_rank(const Reading& reading, const NamedValues& layout,
                                         std::int64_t rank, Sequences sequences) const {
  Result<TrainRecipe> asked = recipe(reading, layout);
  if (!asked) return tl::unexpected(asked.error());
  asked->layout.rank = rank;
  return ask_of(*asked, sequences, {.workers = workers_}, device_);
}

/// As predict_train says it.
std::vector<Setting> Confirmation::workload_of(const TrainRecipe& recipe) const {
  const Result<TrainRecipe> settled = resolved(recipe, model_.config);
  return settled ? workload_settings(*settled) : std::vector<Setting>();
}

/// The workload that it names is that of the whole step.
Result<Confirmed> Confirmation::ask_of(const TrainRecipe& recipe, Sequences sequences,
                                       PredictOptions options, const DeviceSetup& device) const {
  if (!sequences) return ask(recipe, std::move(options), device);
  TrainRecipe part = recipe;
  part.global_batch_size = sequences;
  Result<Confirmed> found = ask(part, std::move(options), device);
  if (!found) return found;
  found->of_sequences = sequences;
  found->workload = workload_of(recipe);
  return found;
}

/// A step of fewer micro-batches, on a GPU that is larger, of which it says what it would of this.
std::optional<Confirmed> Confirmation::with_fewer(const Asked& asked, PredictOptions options,
                                                  Bytes larger_by) const {
  const std::optional<Bytes> total = device_.total_bytes();
  if (!asked.fewer_sequences || !total) return std::nullopt;
  DeviceSetup other = device_;
  other.total_override = *total + larger_by;
  Result<Confirmed> found = ask_of(*asked.layout, asked.fewer_sequences, std::move(options), other);
  if (!found) return std::nullopt;
  found->headroom_bytes -= larger_by;
  found->device = device_summary(device_);
  return std::move(*found);
}

/// What fits well on a larger GPU, but not on a smaller one, is left open.
Result<Confirmed> Confirmation::after_fewer(const Asked& asked, PredictOptions options) const {
  std::optional<Confirmed> fewer = with_fewer(asked, options, kFewerIsOff);
  if (!fewer || (fewer->gives_back() && !options.until_tight))
    return ask(*asked.layout, std::move(options));
  if (!fewer->fits) return std::move(*fewer);
  fewer->is_open = fewer->fits_well();
  if (fewer->is_open) {
    std::optional<Confirmed> smaller = with_fewer(asked, std::move(options), -kFewerIsOff);
    if (smaller && smaller->fits_well()) return std::move(*smaller);
  }
  fewer->fits = fewer->headroom_bytes >= 0;
  fewer->verdict = fewer->fits ? VerdictWord::may_not_fit : VerdictWord::does_not_fit;
  return std::move(*fewer);
}

Result<Confirmed> Confirmation::ask(const TrainRecipe& recipe, PredictOptions options,
                                    const DeviceSetup& device) const {
  options.largest = 0;
  options.advise = false;
  options.fullest_only = true;
  Result<TrainAnswer> answer = predict_train(model_, recipe, device, options);
  if (!answer) return tl::unexpected(answer.error());
  Prediction& p = answer->prediction;
  Confirmed found;
  found.within_limit_bytes = report::needed(p);
  found.peak_device_bytes =
      std::max(report::peak_rank(p).peak_device_bytes, report::before_the_step(p).value_or(0));
  found.headroom_bytes = p.headroom_bytes.value_or(0);
  found.verdict = p.verdict.value_or(VerdictWord::fits);
  found.fits = p.fits.value_or(true);
  found.peak_rank = p.peak_rank;
  found.model = std::move(p.model);
  found.workload = std::move(p.workload);
  found.device = std::move(p.device);
  found.warnings = std::move(p.warnings);
  return found;
}

}  // namespace memtape::plan
