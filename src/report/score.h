// SPDX-License-Identifier: Apache-2.0
// Score: predictions against what really happened, row by row: how often to the byte, how far off
// otherwise, and how that spreads over families and recipes. Feeds `memtape scoreboard` and
// docs/accuracy.md.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace memtape::report {

/// One number of one row.
struct ScoredValue {
  std::string key;  ///< "peak_allocated_bytes"
  std::int64_t measured = 0, predicted = 0;

  bool exact() const { return measured == predicted; }
  /// 100 * (predicted - measured) / measured; 100 where only the measured one is zero.
  double error_percent() const;
};

struct ScoredRow {
  std::string id;
  std::vector<std::pair<std::string, std::string>>
      groups;  ///< ("family", "llama"), ("precision", "bf16") ...
  std::vector<ScoredValue> values;
  std::string failure;  ///< why there is no prediction, or ""
};

/// The spread of one key's error over rows.
struct Distribution {
  std::string key;
  std::int64_t rows = 0, exact = 0;
  double mean = 0, median = 0, p95 = 0, max = 0;  ///< of the absolute error in per cent

  double exact_percent() const {
    return rows == 0 ? 0 : 100.0 * static_cast<double>(exact) / static_cast<double>(rows);
  }
};

/// Per key, in order of first appearance.
std::vector<Distribution> distributions(const std::vector<ScoredRow>& rows);

/// The spread of `key` within each value of group `group`, values in alphabetical order.
std::vector<std::pair<std::string, Distribution>> by_group(const std::vector<ScoredRow>& rows,
                                                           const std::string& group,
                                                           const std::string& key);

/// The figures that tables by group show: the peaks where there are some, else the first three of
/// those that most rows have.
std::vector<std::string> main_figures(const std::vector<ScoredRow>& rows);

/// For a terminal: a line per key, the `worst` rows furthest off, and what failed.
std::string score_text(const std::vector<ScoredRow>& rows, std::size_t worst);

/// For docs/accuracy.md: tables per key, per family and recipe, and every row that is off.
std::string score_markdown(const std::vector<ScoredRow>& rows);

/// For programs: an object with `distributions` (errors in per cent), the keys of the
/// `main_figures` and `rows` with [predicted, measured] by key.
std::string score_json(const std::vector<ScoredRow>& rows);

}  // namespace memtape::report
