// SPDX-License-Identifier: Apache-2.0
// Rules of thumb: what a well-known formula says of a step, beside what the step really holds, and
// why the two differ.
#pragma once

#include <string>
#include <vector>

#include "base/bytes.h"
#include "report/style.h"

namespace memtape {

struct RuleOfThumb {
  std::string name;     ///< "activations with attention scores"
  std::string formula;  ///< with the numbers of this step in place
  std::string source;
  Bytes says = 0;
  std::string of;  ///< what it is about, and is compared with
  Bytes exact = 0;
  std::string why;  ///< a sentence on the difference

  /// How far off it is, in percent of the exact figure; 0 where that is 0.
  double error_percent() const;
};

namespace report {

/// A table of the rules, and the reasons beneath it.
std::string rules_of_thumb(const std::vector<RuleOfThumb>& rules, int width, const Style& style);

}  // namespace report

}  // namespace memtape
