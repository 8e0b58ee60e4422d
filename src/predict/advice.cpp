// SPDX-License-Identifier: Apache-2.0
#include "predict/advice.h"

#include <algorithm>

#include "framework/train_arguments.h"
#include "predict/command_text.h"
#include "predict/levers.h"

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

/// Levers pulled one after the other.
class AdviceSearch {
 public:
  AdviceSearch(const ModelRequest& model, const DeviceSetup& device, const CommandWords& command,
               Bytes peak)
      : model_(model), device_(device), command_(command), peak_(peak) {}

  /// Whether it fits with this lever and those that helped before.
  bool pull(const Lever& lever) {
    const AdvisedChanges changes = with_changes(kept_, lever.changes);
    const auto recipe = command_.read(with_changes(command_.values, changes));
    if (!recipe) return false;
    const auto answer = predict_train(model_, *recipe, device_, {.largest = 0, .advise = false});
    if (!answer) return false;
    const Bytes peak = highest_peak(answer->prediction);
    const bool fits = answer->prediction.fits.value_or(false), helps = peak < peak_;
    if (!fits && !helps && !lever.is_free) return false;
    kept_ = changes;
    pulled_.push_back(&lever);
    peak_ = std::min(peak, peak_);
    if (!fits && !helps) return false;
    tried_.push_back({.change = options_text(changes),
                      .command = command_text(command_, with_changes(command_.typed, changes)),
                      .peak_device_bytes = peak,
                      .cost = told_together(pulled_),
                      .fits = fits});
    return fits;
  }

  /// The one that fits, else the last ones, which lower it most.
  std::vector<Advice> take() && {
    if (!tried_.empty() && tried_.back().fits)
      std::rotate(tried_.begin(), tried_.end() - 1, tried_.end());
    return std::move(tried_);
  }

 private:
  const ModelRequest& model_;
  const DeviceSetup& device_;
  const CommandWords& command_;
  Bytes peak_;
  AdvisedChanges kept_;
  std::vector<const Lever*> pulled_;
  std::vector<Advice> tried_;
};

}  // namespace

std::vector<Advice> advise(const ModelRequest& model, const TrainRecipe& resolved,
                           const DeviceSetup& device, const CommandWords& command,
                           const Prediction& failing) {
  AdviceSearch search(model, device, command, highest_peak(failing));
  const std::vector<Lever> levers = levers_of(resolved, failing);
  for (const Lever& lever : levers)
    if (search.pull(lever)) break;
  return std::move(search).take();
}

}  // namespace memtape
