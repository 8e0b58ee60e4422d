// SPDX-License-Identifier: Apache-2.0
// The answer as text: the verdict, a picture, what the peak consists of, the largest tensors and
// why they exist, and advice. Bytes are in GiB (2^30), or in MiB if everything is smaller. No line
// is longer than the width.
#pragma once

#include <string>

#include "outcome/prediction.h"
#include "report/style.h"

namespace memtape::report {

struct TextOptions {
  int width = 80;  ///< at least kLeastWidth; tables do not grow beyond kMostWidth
  Style style = {};
  std::size_t largest = 6;  ///< the rows of the table of the largest tensors
};

/// `trace` may be null; then there is no picture.
std::string text(const Prediction& prediction, const Trace* trace, const TextOptions& options);

/// Only the verdict, on one line.
std::string quiet_text(const Prediction& prediction);

}  // namespace memtape::report
