// SPDX-License-Identifier: Apache-2.0
// The runs of `memtape check` beside their budgets and beside what was accepted last, as text and
// as JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "budget_file.h"
#include "budget_lock.h"
#include "outcome/verdict_word.h"

namespace memtape::cli {

/// What a run's answer says.
struct RunAnswer {
  Need need;
  std::optional<VerdictWord> verdict;  ///< none where no GPU is named
  bool fails = false;                  ///< does not fit, or may not where that counts (--strict)
  std::string verdict_line;            ///< the verdict with its figures
};

struct CheckedRun {
  Budget budget;
  RunAnswer now;
  std::optional<Need> locked;

  Bytes growth() const { return locked ? now.need.peak - locked->peak : 0; }
  bool grew() const { return growth() > budget.allowed_growth; }
  bool is_over() const { return budget.limit && now.need.peak > *budget.limit; }
  bool passes(bool growth_counts) const {
    return !now.fails && !is_over() && !(growth_counts && grew());
  }
  /// Adds up to growth(), where the lock file says what the run was made of.
  report::PeakParts differences() const {
    if (!locked || !locked->is_taken_apart()) return {};
    return report::changes(locked->parts, now.need.parts);
  }
};

/// `quiet`: the table alone, without its head.
std::string text(const std::vector<CheckedRun>& runs, bool quiet);
std::string json(const std::vector<CheckedRun>& runs, bool passes);

}  // namespace memtape::cli
