// SPDX-License-Identifier: Apache-2.0
// `memtape train MODEL`: the answer for one training, or to a question about many (--solve, --grid,
// --compare).
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "answer/options.h"
#include "answer/outside.h"
#include "answer/train_compare.h"
#include "answer/train_grid.h"
#include "answer/train_request.h"
#include "answer/train_solution.h"
#include "predict/rules_of_thumb.h"

namespace memtape::answer {

/// The step of one training, which is predicted or recorded.
struct OneTraining {
  TrainAnswer train;
  std::vector<RuleOfThumb> rules;  ///< if they are asked for
};

using Training = std::variant<OneTraining, Solution, Grid, TrainComparison>;

/// `trace` keeps what reports that draw time need. `largest` is the number of rows in the table of
/// the largest tensors.
Result<Training> answer_train(const RawOptions& options, bool trace, const Outside& outside,
                              std::size_t largest = PredictOptions{}.largest);

std::string json(const Training& training);

/// The exit code for a training, which is 0 or 1.
int exit_code(const Training& training, bool strict);

}  // namespace memtape::answer
