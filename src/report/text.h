// SPDX-License-Identifier: Apache-2.0
// The answer for people: verdict, picture, what the peak is made of, the largest tensors and why
// they exist, advice. Bytes are in GiB (2^30), or MiB where everything is smaller; no line is
// longer than the width.
#pragma once

#include <string>

#include "outcome/prediction.h"
#include "report/style.h"

namespace memtape::report {

struct TextOptions {
  int width = 80;  ///< at least kLeastWidth is used; tables stop growing at kMostWidth
  Style style = {};
  std::size_t largest = 6;  ///< rows of the table of the largest tensors
};

/// `trace` may be null: then there is no picture.
std::string text(const Prediction& prediction, const Trace* trace, const TextOptions& options);

/// The verdict alone, on one line.
std::string quiet_text(const Prediction& prediction);

}  // namespace memtape::report
