// SPDX-License-Identifier: Apache-2.0
// A training request: gives the options of `memtape train` their meaning and answers them. The
// train command, the scoreboard and the comparison of tapes all use it.
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
  NamedValues values;  ///< with files replaced by their text
  /// The recipe for other values, with everything else unchanged.
  std::function<Result<TrainRecipe>(std::span<const NamedValue>)> read;
};

/// The recipe and the device of the options. If the dialect does not model an option, the error
/// names it, or the place where a launch command says it.
Result<TrainRequest> train_request(const RawOptions& options, const Outside& outside);

}  // namespace memtape::answer
