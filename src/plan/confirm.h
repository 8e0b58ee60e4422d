// SPDX-License-Identifier: Apache-2.0
// confirm: answers a candidate exactly, as `memtape train` answers its options.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "option/given.h"
#include "plan/space.h"
#include "predict/train.h"

namespace memtape::plan {

/// The user's options and how they are read, for one framework.
struct Reading {
  NamedValues values;
  std::function<Result<TrainRecipe>(std::span<const NamedValue>)> read;
};

struct Confirmed {
  Bytes peak_device_bytes = 0, headroom_bytes = 0;
  Bytes within_limit_bytes = 0;  ///< it is smaller if cached segments go back to make room
  bool fits = false;
  VerdictWord verdict = VerdictWord::fits;
  int peak_rank = 0;
  /// Sequences of the step that was run, where those of fewer micro-batches were enough.
  std::optional<std::int64_t> of_sequences = {};
  /// And those leave open whether it fits well.
  bool is_open = false;
  ModelSummary model;
  std::vector<Setting> workload;
  std::optional<DeviceSummary> device;
  std::vector<std::string> warnings;

  /// It fits only while cached segments go back in every step.
  bool gives_back() const { return within_limit_bytes != peak_device_bytes; }
  bool fits_well() const { return fits && verdict == VerdictWord::fits && !gives_back(); }
};

class Confirmation {
 public:
  Confirmation(const ModelRequest& model, const DeviceSetup& device, Workers workers)
      : model_(model), device_(device), workers_(std::move(workers)) {}

  Result<TrainRecipe> recipe(const Reading& reading, const NamedValues& layout) const;
  /// What is left for the program itself if all else takes the most that it may: a layout that
  /// needs more does not fit for certain (Bounds).
  Bytes surely_there(const TrainRecipe& layout) const;
  /// A step of all sequences, or of so many.
  using Sequences = std::optional<std::int64_t>;
  /// Answers for every distinct rank, or until one needs more than `at_most`.
  Result<Confirmed> all_ranks(const Reading& reading, const NamedValues& layout,
                              Sequences sequences = {}, std::optional<Bytes> at_most = {}) const;
  /// The same, but no more ranks are run once one needs more than the device has. A layout that
  /// fits well was answered for every rank. Several are answered side by side. `until_tight`: one
  /// that cannot fit well is not run further (PredictOptions).
  struct Asked {
    Result<TrainRecipe> layout;
    std::optional<int> likely_stage;  ///< the one that is likely the fullest runs first
    /// Sequences of a step of fewer micro-batches. Where the verdict is that of a GPU that is larger
    /// and smaller by what it may be off, the step itself is not run.
    Sequences fewer_sequences = {};
  };
  std::vector<Result<Confirmed>> until_too_large(std::span<const Asked> layouts,
                                                 bool until_tight) const;
  /// Answers for one rank. If that rank does not fit, neither does the layout.
  Result<Confirmed> one_rank(const Reading& reading, const NamedValues& layout, std::int64_t rank,
                             Sequences sequences = {}) const;

 private:
  std::optional<Confirmed> with_fewer(const Asked& asked, PredictOptions options,
                                      Bytes larger_by) const;
  Result<Confirmed> ask_of(const TrainRecipe& recipe, Sequences sequences, PredictOptions options,
                           const DeviceSetup& device) const;
  std::vector<Setting> workload_of(const TrainRecipe& recipe) const;
  Result<Confirmed> after_fewer(const Asked& asked, PredictOptions options) const;
  Result<Confirmed> ask(const TrainRecipe& recipe, PredictOptions options) const {
    return ask(recipe, std::move(options), device_);
  }
  Result<Confirmed> ask(const TrainRecipe& recipe, PredictOptions options,
                        const DeviceSetup& device) const;

  const ModelRequest& model_;
  const DeviceSetup& device_;
  const Workers workers_;
};

}  // namespace memtape::plan
