// SPDX-License-Identifier: Apache-2.0
// Verification: a predicted step compared with the same step as real PyTorch ran it, figure by
// figure and, if both sides have a tape, event by event.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "outcome/prediction.h"
#include "report/tape_diff.h"

namespace memtape::report {

struct Figure {
  std::string name;  ///< the dotted path in the JSON of `train`
  std::int64_t predicted = 0, real = 0;
  bool same() const { return predicted == real; }
};

struct Verification {
  std::string model, stack;
  std::vector<Figure> figures;
  std::optional<TapeDiff> tape;

  bool exact() const;
};

/// Every figure that a prediction has of a rank, under its name in the JSON. `real` stays 0.
std::vector<Figure> predicted_figures(const Prediction& prediction);

std::string text(const Verification& verification);
std::string json(const Verification& verification);

}  // namespace memtape::report
