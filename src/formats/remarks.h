// SPDX-License-Identifier: Apache-2.0
// Remarks: what a reader of settings says beside what it understood. `warnings` leave the answer as
// it is: what was taken for granted, what the program passes over. `not_modelled` names settings
// that change memory in a way nobody has modelled: the answer is without them, and its bounds
// widen.
#pragma once

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

namespace memtape {

struct Remarks {
  std::vector<std::string> warnings, not_modelled;

  void add(Remarks more) {
    std::ranges::move(more.warnings, std::back_inserter(warnings));
    std::ranges::move(more.not_modelled, std::back_inserter(not_modelled));
  }
};

}  // namespace memtape
