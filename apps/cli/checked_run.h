// SPDX-License-Identifier: Apache-2.0
// The runs of `memtape check`, compared with their budgets and with what was last accepted, as text
// and as JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "answer/table.h"
#include "budget_file.h"
#include "budget_lock.h"
#include "outcome/verdict_word.h"

namespace memtape::cli {

/// What the answer for a run says.
struct RunAnswer {
  Need need;
  std::optional<VerdictWord> verdict;  ///< absent if no GPU is named
  bool fails = false;        ///< it does not fit, or it may not fit and that counts (--strict)
  std::string verdict_line;  ///< the verdict and its figures
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
  /// The differences add up to growth(), if the lock file says what the run consisted of.
  report::PeakParts differences() const {
    if (!locked || !locked->is_taken_apart()) return {};
    return report::changes(locked->parts, now.need.parts);
  }
};

/// `quiet` leaves only the table, without its head.
std::string text(const std::vector<CheckedRun>& runs, bool quiet, answer::Widths widths);
std::string json(const std::vector<CheckedRun>& runs, bool passes);

}  // namespace memtape::cli
