// SPDX-License-Identifier: Apache-2.0
// The answer of --compare for a training: the same training on each of several kinds and numbers of
// GPUs.
#pragma once

#include <optional>

#include "answer/table.h"
#include "answer/train_question.h"

namespace memtape::answer {

struct ComparedTraining {
  std::string gpu;  ///< as it was typed, without the number of GPUs
  std::optional<std::int64_t> count;
  std::optional<double> price;  ///< for one hour of all GPUs
  VariantAnswer answer;
};

struct TrainComparison {
  std::string model, title;
  std::vector<ComparedTraining> trainings;
  std::optional<std::size_t> winner;  ///< the cheapest that fits or, without prices, the smallest
  bool strict = false;

  bool fits() const { return winner.has_value(); }
};

/// `gpus` is like "rtx-4090,4xa100-80gb". `prices` is like "rtx-4090=0.4,a100-80gb=1.8", for one
/// hour of one GPU, or "".
Result<TrainComparison> comparison_of(const Question& question, const std::string& gpus,
                                      const std::string& prices);

std::string text(const TrainComparison& comparison, Widths widths);
std::string quiet_text(const TrainComparison& comparison);
std::string json(const TrainComparison& comparison);

}  // namespace memtape::answer
