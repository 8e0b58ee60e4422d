// SPDX-License-Identifier: Apache-2.0
// Rules of thumb: what a well-known formula says of a step, what the step really holds, and why the
// two differ.
#pragma once

#include <string>
#include <vector>

#include "base/bytes.h"
#include "report/style.h"

namespace memtape {

struct RuleOfThumb {
  std::string name;     ///< "activations with attention scores"
  std::string formula;  ///< the formula with the numbers of this step
  std::string source;
  Bytes says = 0;
  std::string of;  ///< the figure that the rule is about and is compared with
  Bytes exact = 0;
  std::string why;  ///< a sentence about the difference

  /// How far the rule is off, in per cent of the exact figure. It is 0 if the exact figure is 0.
  double error_percent() const;
};

namespace report {

/// A table of the rules, followed by the reasons.
std::string rules_of_thumb(const std::vector<RuleOfThumb>& rules, int width, const Style& style);

}  // namespace report

}  // namespace memtape
