// SPDX-License-Identifier: Apache-2.0
// predict_train: the whole way from a question to an answer. The framework runs the model on ghost
// tensors, the allocator plays the tape, and the timeline gives the Prediction that reports show.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/workers.h"
#include "mesh/device_setup.h"
#include "model/config.h"
#include "model/tensor_list.h"
#include "option/given.h"
#include "outcome/prediction.h"
#include "workload/train_recipe.h"

namespace memtape::ghost {
struct DeviceTraits;
}

namespace memtape {

/// What the host code of kernels asks the device for.
ghost::DeviceTraits device_traits(const DeviceSetup& device);

struct ModelRequest {
  std::string id;
  const Config& config;
  const TensorList* header = nullptr;  ///< the checkpoint's tensors, when known
};

/// The command that asks, so that advice can repeat it with a change.
struct CommandWords {
  std::vector<std::string> head;  ///< before the options: "memtape train MODEL"
  NamedValues typed;              ///< as they were typed; a switch has the value ""
  std::vector<std::string> tail;  ///< after them: "-- COMMAND..."
  NamedValues values;             ///< as they were read: files by their text, those of the COMMAND
  std::function<Result<TrainRecipe>(std::span<const NamedValue>)> read;
};

struct PredictOptions {
  std::size_t largest = 12;  ///< rows of the table of the largest tensors
  bool trace = false;        ///< keep what reports that draw time need
  bool advise = true;        ///< look for what would make it fit, when it does not
  /// Leave ranks out that hold less than the fullest one by far, and say of ranks what they hold
  /// alone, not what that is.
  bool fullest_only = false;
  /// No more ranks are run after some that need more than the device has. One that requests more
  /// than that is not played. The answer says by how much, and has no bounds.
  bool until_too_large = false;
  std::optional<Bytes> at_most = {};  ///< in place of what the device has
  /// Nor are they after some that would not fit if all else took the most that it may. Then the
  /// answer says that the step may not fit, and has no bounds.
  bool until_tight = false;
  /// A rank of this stage runs before the others: one that may end the run.
  std::optional<int> likely_stage = {};
  Workers workers = {};                   ///< who run the ranks, and try what would fit
  const CommandWords* command = nullptr;  ///< without it there is no advice
};

struct TrainAnswer {
  Prediction prediction;
  std::optional<Trace> trace;
};

Result<TrainAnswer> predict_train(const ModelRequest& model, const TrainRecipe& recipe,
                                  const DeviceSetup& device, const PredictOptions& options = {});

}  // namespace memtape
