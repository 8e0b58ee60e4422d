// SPDX-License-Identifier: Apache-2.0
// `memtape train MODEL`: one training's answer, or that of a question about many (--solve, --grid,
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

/// The step of one training, predicted or recorded.
struct OneTraining {
  TrainAnswer train;
  std::vector<RuleOfThumb> rules;  ///< where they are asked for
};

using Training = std::variant<OneTraining, Solution, Grid, TrainComparison>;

/// `trace`: keep what reports that draw time need. `largest`: rows of the table of the largest
/// tensors.
Result<Training> answer_train(const RawOptions& options, bool trace, const Outside& outside,
                              std::size_t largest = PredictOptions{}.largest);

std::string json(const Training& training);

/// Of a training: 0 or 1.
int exit_code(const Training& training, bool strict);

}  // namespace memtape::answer
