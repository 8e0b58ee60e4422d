// SPDX-License-Identifier: Apache-2.0
// The answer of --compare for a training: the same on each of several kinds and numbers of GPUs.
#pragma once

#include <optional>

#include "answer/train_question.h"

namespace memtape::answer {

struct ComparedTraining {
  std::string gpu;  ///< as it was typed, without its count
  std::optional<std::int64_t> count;
  std::optional<double> price;  ///< an hour, of all of them
  VariantAnswer answer;
};

struct TrainComparison {
  std::string model, title;
  std::vector<ComparedTraining> trainings;
  std::optional<std::size_t> winner;  ///< cheapest that fits; without prices the smallest
  bool strict = false;

  bool fits() const { return winner.has_value(); }
};

/// `gpus`: "rtx-4090,4xa100-80gb"; `prices`: "rtx-4090=0.4,a100-80gb=1.8", an hour each, or "".
Result<TrainComparison> comparison_of(const Question& question, const std::string& gpus,
                                      const std::string& prices);

std::string text(const TrainComparison& comparison, int width);
std::string json(const TrainComparison& comparison);

}  // namespace memtape::answer
