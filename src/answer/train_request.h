// SPDX-License-Identifier: Apache-2.0
// A training request: the options of `memtape train` as typed, given their meaning and answered.
// The train command, the scoreboard and the tape comparison all go through here.
#pragma once

#include "answer/options.h"
#include "answer/outside.h"
#include "base/result.h"
#include "predict/train.h"
#include "workload/read_recipe.h"

namespace memtape::answer {

struct TrainRequest {
  TrainRecipe recipe;
  DeviceSetup device;
  NamedValues values;  ///< with the text of files
  /// The recipe of other values, all else alike.
  std::function<Result<TrainRecipe>(std::span<const NamedValue>)> read;
};

/// Recipe and device of the options; an option that the dialect does not model is an error that
/// names it.
Result<TrainRequest> train_request(const RawOptions& options, const Outside& outside);

}  // namespace memtape::answer
