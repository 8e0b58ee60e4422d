// SPDX-License-Identifier: Apache-2.0
#include "predict/advice.h"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <optional>
#include <span>

#include <fmt/format.h>

#include "base/given_up.h"
#include "base/text.h"
#include "framework/train_arguments.h"
#include "predict/command_text.h"
#include "predict/levers.h"
#include "predict/program.h"
#include "predict/step_needs.h"
#include "report/headline.h"

namespace memtape {
namespace {

Bytes highest_peak(const Prediction& prediction) {
  Bytes peak = 0;
  for (const RankReport& rank : prediction.ranks) peak = std::max(peak, rank.peak_device_bytes);
  return peak;
}

/// Whether the step is too large without any activation, so that what lies between steps must
/// shrink.
bool holds_too_much(const Prediction& failing) {
  const RankReport& rank = report::peak_rank(failing);
  const Bytes activations =
      rank.at_peak[Category::activation] + rank.at_peak[Category::autograd_detail];
  return failing.device && rank.peak_device_bytes - activations > failing.device->total_bytes;
}

/// From where on levers are likely to make it fit; null where none is.
const Lever* expected_of(const Levers& levers, const Prediction& failing) {
  const auto less_held =
      levers.all.begin() + static_cast<std::ptrdiff_t>(levers.first_holding_less);
  const auto first =
      holds_too_much(failing) ? less_held : std::ranges::find(levers.all, false, &Lever::is_free);
  return first == levers.all.end() ? nullptr : &*first;
}

/// The costs of all that is changed, each once; what costs nothing is not told beside what does.
std::string told_together(const std::vector<const Lever*>& levers) {
  std::string told;
  for (const Lever* lever : levers)
    if (!lever->is_free && told.find(lever->cost) == std::string::npos)
      told += (told.empty() ? "" : "; ") + lever->cost;
  return told.empty() && !levers.empty() ? levers.back()->cost : told;
}

/// A command with a lever and those before it.
struct Trial {
  const Lever* lever = nullptr;
  NamedValues changes;
  std::optional<TrainRecipe> recipe;  ///< nothing where there is no such command, or no such plan
  std::optional<StepNeeds> needs;     ///< nothing where there is no such step
};

/// Levers pulled one after the other. Workers try several at a time, each as if those before it
/// helped, which most do: what was tried behind one that did not is tried again. As soon as a trial
/// decides about those behind it, they are given up, so the answer does not depend on the workers.
class AdviceSearch {
 public:
  AdviceSearch(const ModelRequest& model, const DeviceSetup& device, const CommandWords& command,
               Bytes peak, const Workers& workers)
      : model_(model), device_(device), command_(command), workers_(workers), peak_(peak) {}

  /// From here on a lever is likely to make it fit: the first that has a plan is tried with all
  /// those before it, and begun first.
  void expect(const Lever* lever) { expected_ = lever; }

  /// Shorter sequences are of no use where what lies between steps is too large already.
  void pull(const Levers& levers) {
    const std::span<const Lever> all = levers.all;
    pull(all.first(levers.first_shorter));
    const bool fits = !tried_.empty() && tried_.back().fits;
    if (!fits && held_ <= *device_.total_bytes()) pull(all.subspan(levers.first_shorter));
  }

  /// The one that fits, else the last ones, which lower it most.
  std::vector<Advice> take() && {
    if (!tried_.empty() && tried_.back().fits)
      std::rotate(tried_.begin(), tried_.end() - 1, tried_.end());
    return std::move(tried_);
  }

 private:
  /// Up to the first that fits.
  void pull(std::span<const Lever> levers) {
    while (!levers.empty()) {
      std::vector<Trial> trials = trials_of(levers);
      try_all(trials);
      for (const Trial& trial : trials) {
        levers = levers.subspan(1);
        if (trial.recipe && trial.lever >= expected_) expected_ = nullptr;
        if (keep(trial)) {
          if (trial.needs->fits) return;
        } else if (trial.recipe) {
          break;
        }
      }
    }
  }

  /// Each lever with all before it, but for those that make no plan: as many as there are workers,
  /// or up to the expected one.
  std::vector<Trial> trials_of(std::span<const Lever> levers) const {
    std::vector<Trial> trials;
    NamedValues changes = kept_;
    std::size_t planned = 0;
    for (const Lever& lever : levers) {
      if (planned > 0 && is_round(planned, *trials.back().lever)) break;
      Trial& trial = trials.emplace_back();
      trial.lever = &lever;
      trial.changes = with_changes(changes, lever.changes);
      const auto recipe = command_.read(with_changes(command_.values, trial.changes));
      if (!recipe || !has_plan(*recipe)) continue;
      trial.recipe = *recipe;
      changes = trial.changes;
      ++planned;
    }
    return trials;
  }

  bool is_round(std::size_t planned, const Lever& last) const {
    if (workers_.count > 1 && expected_) return &last >= expected_;
    return planned >= workers_.count;
  }

  bool has_plan(const TrainRecipe& recipe) const {
    const Result<TrainRecipe> settled = resolved(recipe, model_.config);
    return settled && plan_of(model_.config, *settled);
  }

  using Flags = std::vector<std::atomic<bool>>;

  /// Up to the first that decides about those behind it.
  void try_all(std::vector<Trial>& trials) const {
    Flags is_done(trials.size()), given_up(trials.size());
    const std::vector<std::size_t> order = order_of(trials);
    workers_.share(trials.size(), [&](std::size_t, std::size_t turn) {
      const std::size_t at = order[turn];
      const GivenUp waits(given_up[at]);
      Trial& trial = trials[at];
      if (trial.recipe && !given_up[at])
        if (const auto needs = needs_of(model_, *trial.recipe, device_)) trial.needs = *needs;
      is_done[at] = true;
      for (std::size_t i = first_deciding(trials, is_done) + 1; i < trials.size(); ++i)
        given_up[i] = true;
    });
  }

  /// One after the other, but for the expected one.
  std::vector<std::size_t> order_of(const std::vector<Trial>& trials) const {
    std::vector<std::size_t> order(trials.size());
    std::iota(order.begin(), order.end(), 0);
    if (expected_ && trials.back().lever >= expected_)
      std::rotate(order.begin(), order.end() - 1, order.end());
    return order;
  }

  /// The first whose levers before it are known to stay and that is known to fit or not to stay;
  /// the number of all trials where that is not known yet.
  std::size_t first_deciding(const std::vector<Trial>& trials, const Flags& is_done) const {
    Bytes peak = peak_;
    for (std::size_t at = 0; at < trials.size() && is_done[at]; ++at) {
      const Trial& trial = trials[at];
      if (!trial.recipe) continue;
      if (!stays(trial, peak) || trial.needs->fits) return at;
      peak = std::min(peak, trial.needs->peak);
    }
    return trials.size();
  }

  static bool helps(const StepNeeds& needs, Bytes peak) { return needs.fits || needs.peak < peak; }
  /// Whether the lever stays pulled: it lowers the peak, or costs nothing.
  static bool stays(const Trial& trial, Bytes peak) {
    return trial.needs && (trial.lever->is_free || helps(*trial.needs, peak));
  }

  bool keep(const Trial& trial) {
    if (!stays(trial, peak_)) return false;
    const StepNeeds& needs = *trial.needs;
    kept_ = trial.changes;
    pulled_.push_back(trial.lever);
    if (helps(needs, peak_))
      tried_.push_back(
          {.change = options_text(trial.changes),
           .command = command_text(command_, with_changes(command_.typed, trial.changes)),
           .peak_device_bytes = needs.fits ? needs.needed : needs.peak,
           .cost = told_together(pulled_),
           .fits = needs.fits,
           .gives_back = needs.gives_back});
    peak_ = std::min(needs.peak, peak_);
    held_ = needs.held;
    return true;
  }

  const ModelRequest& model_;
  const DeviceSetup& device_;
  const CommandWords& command_;
  const Workers& workers_;
  Bytes peak_;
  Bytes held_ = 0;  ///< between steps, with the levers pulled so far
  const Lever* expected_ = nullptr;
  NamedValues kept_;
  std::vector<const Lever*> pulled_;
  std::vector<Advice> tried_;
};

}  // namespace

std::vector<Advice> advise(const ModelRequest& model, const TrainRecipe& resolved,
                           const DeviceSetup& device, const CommandWords& command,
                           const Prediction& failing, const Workers& workers) {
  AdviceSearch search(model, device, command, highest_peak(failing), workers);
  const Levers levers = levers_of(resolved, failing);
  search.expect(expected_of(levers, failing));
  search.pull(levers);
  return std::move(search).take();
}

std::string why_nothing_helps(const std::vector<Advice>& advice, Bytes limit) {
  if (std::ranges::any_of(advice, &Advice::fits)) return {};
  constexpr std::string_view kElse = "memtape plan train looks for layouts over more GPUs";
  if (advice.empty()) return fmt::format("No change that is known lowers it: {}", kElse);
  const Advice& nearest = *std::ranges::min_element(advice, {}, &Advice::peak_device_bytes);
  return fmt::format("No change is enough: the nearest, {}, still needs {}, {} too much; {}",
                     nearest.change, gib(nearest.peak_device_bytes),
                     gib(nearest.peak_device_bytes - limit), kElse);
}

}  // namespace memtape
