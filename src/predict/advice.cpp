// SPDX-License-Identifier: Apache-2.0
#include "predict/advice.h"

#include <algorithm>
#include <span>

#include "framework/train_arguments.h"
#include "predict/command_text.h"
#include "predict/levers.h"
#include "report/headline.h"

namespace memtape {
namespace {

using AdvisedChanges = std::vector<NamedValue>;

Bytes highest_peak(const Prediction& prediction) {
  Bytes peak = 0;
  for (const RankReport& rank : prediction.ranks) peak = std::max(peak, rank.peak_device_bytes);
  return peak;
}

/// The costs of all that is changed, each once; what costs nothing is not told beside what does.
std::string told_together(const std::vector<const Lever*>& levers) {
  std::string told;
  for (const Lever* lever : levers)
    if (!lever->is_free && told.find(lever->cost) == std::string::npos)
      told += (told.empty() ? "" : "; ") + lever->cost;
  return told.empty() && !levers.empty() ? levers.back()->cost : told;
}

/// What a command would need with a lever and those that helped before it.
struct Trial {
  AdvisedChanges changes;
  Bytes peak = 0, needed = 0;
  bool is_answered = false, fits = false, gives_back = false;
};

/// Levers pulled one after the other. As many as there are workers are tried at a time, each as if
/// those before it helped, which most do: what was tried behind one that did not is tried again.
class AdviceSearch {
 public:
  AdviceSearch(const ModelRequest& model, const DeviceSetup& device, const CommandWords& command,
               Bytes peak, const Workers& workers)
      : model_(model), device_(device), command_(command), workers_(workers), peak_(peak) {}

  /// Up to the first that fits.
  void pull(std::span<const Lever> levers) {
    while (!levers.empty()) {
      const std::vector<Trial> trials = trials_of(levers.first(std::min(levers.size(), at_once())));
      for (const Trial& trial : trials) {
        const Lever& lever = levers.front();
        levers = levers.subspan(1);
        const bool kept = keep(lever, trial);
        if (kept && trial.fits) return;
        if (!kept) break;
      }
    }
  }

  /// The one that fits, else the last ones, which lower it most.
  std::vector<Advice> take() && {
    if (!tried_.empty() && tried_.back().fits)
      std::rotate(tried_.begin(), tried_.end() - 1, tried_.end());
    return std::move(tried_);
  }

 private:
  std::size_t at_once() const { return std::max<std::size_t>(workers_.count, 1); }

  /// Of levers in a row, each with all before it.
  std::vector<Trial> trials_of(std::span<const Lever> levers) const {
    std::vector<Trial> trials;
    AdvisedChanges changes = kept_;
    for (const Lever& lever : levers)
      trials.push_back({.changes = changes = with_changes(changes, lever.changes)});
    workers_.share(trials.size(), [&](std::size_t, std::size_t at) { answer(trials[at]); });
    return trials;
  }

  void answer(Trial& trial) const {
    const auto recipe = command_.read(with_changes(command_.values, trial.changes));
    if (!recipe) return;
    const auto answer = predict_train(model_, *recipe, device_, {.largest = 0, .advise = false});
    if (!answer) return;
    trial.is_answered = true;
    trial.peak = highest_peak(answer->prediction);
    trial.needed = report::needed(answer->prediction);
    trial.fits = answer->prediction.fits.value_or(false);
    trial.gives_back = answer->prediction.within_limit_bytes.has_value();
  }

  /// Whether the lever stays pulled: it lowers the peak, or costs nothing.
  bool keep(const Lever& lever, const Trial& trial) {
    const bool helps = trial.fits || trial.peak < peak_;
    if (!trial.is_answered || (!helps && !lever.is_free)) return false;
    kept_ = trial.changes;
    pulled_.push_back(&lever);
    peak_ = std::min(trial.peak, peak_);
    if (helps)
      tried_.push_back(
          {.change = options_text(trial.changes),
           .command = command_text(command_, with_changes(command_.typed, trial.changes)),
           .peak_device_bytes = trial.fits ? trial.needed : trial.peak,
           .cost = told_together(pulled_),
           .fits = trial.fits,
           .gives_back = trial.gives_back});
    return true;
  }

  const ModelRequest& model_;
  const DeviceSetup& device_;
  const CommandWords& command_;
  const Workers& workers_;
  Bytes peak_;
  AdvisedChanges kept_;
  std::vector<const Lever*> pulled_;
  std::vector<Advice> tried_;
};

}  // namespace

std::vector<Advice> advise(const ModelRequest& model, const TrainRecipe& resolved,
                           const DeviceSetup& device, const CommandWords& command,
                           const Prediction& failing, const Workers& workers) {
  AdviceSearch search(model, device, command, highest_peak(failing), workers);
  const std::vector<Lever> levers = levers_of(resolved, failing);
  search.pull(levers);
  return std::move(search).take();
}

}  // namespace memtape
