// SPDX-License-Identifier: Apache-2.0
// Remarks: what a reader of settings reports in addition to what it has understood. `warnings` do
// not change the answer: they name what was assumed and what the program ignores. `not_modelled`
// names settings that change memory in a way that is not modelled: the answer is given without
// them, and its bounds are wider. `not_bounded` says in short what adds to memory by an amount that
// neither the settings nor the model limit: the answer has no upper end.
#pragma once

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

namespace memtape {

struct Remarks {
  std::vector<std::string> warnings, not_modelled, not_bounded;

  void add(Remarks more) {
    std::ranges::move(more.warnings, std::back_inserter(warnings));
    std::ranges::move(more.not_modelled, std::back_inserter(not_modelled));
    std::ranges::move(more.not_bounded, std::back_inserter(not_bounded));
  }
};

}  // namespace memtape
