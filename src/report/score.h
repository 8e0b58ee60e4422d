// SPDX-License-Identifier: Apache-2.0
// Score: predictions compared row by row with what really happened. It says how often a prediction
// is right to the byte, how far off it is otherwise, and how that varies over families and recipes.
// `memtape scoreboard` and docs/accuracy.md show it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace memtape::report {

/// One figure of one row.
struct ScoredValue {
  std::string key;  ///< "peak_allocated_bytes"
  std::int64_t measured = 0, predicted = 0;

  bool exact() const { return measured == predicted; }
  /// 100 * (predicted - measured) / measured. It is 100 if only the measured figure is zero.
  double error_percent() const;
};

struct ScoredRow {
  std::string id;
  std::vector<std::pair<std::string, std::string>>
      groups;  ///< ("family", "llama"), ("precision", "bf16") ...
  std::vector<ScoredValue> values;
  std::string failure;  ///< why there is no prediction; else ""
};

/// How the errors of one key spread over the rows.
struct Distribution {
  std::string key;
  std::int64_t rows = 0, exact = 0;
  double mean = 0, median = 0, p95 = 0, max = 0;  ///< of the absolute error, in per cent

  double exact_percent() const {
    return rows == 0 ? 0 : 100.0 * static_cast<double>(exact) / static_cast<double>(rows);
  }
};

/// One for each key, in the order of their first appearance.
std::vector<Distribution> distributions(const std::vector<ScoredRow>& rows);

/// The spread of `key` for each value of the group `group`, in the alphabetical order of the
/// values.
std::vector<std::pair<std::string, Distribution>> by_group(const std::vector<ScoredRow>& rows,
                                                           const std::string& group,
                                                           const std::string& key);

/// The figures that tables by group show: the peaks if there are any, else the first three of those
/// that most rows have.
std::vector<std::string> main_figures(const std::vector<ScoredRow>& rows);

/// Text for a terminal: a line for each key, the `worst` rows that are furthest off, and what
/// failed.
std::string score_text(const std::vector<ScoredRow>& rows, std::size_t worst);

/// Text for docs/accuracy.md: tables by key, by family and by recipe, and every row that is off.
std::string score_markdown(const std::vector<ScoredRow>& rows);

/// JSON for programs: an object with `distributions` (errors in per cent), the keys of the
/// `main_figures`, and `rows` with [predicted, measured] by key.
std::string score_json(const std::vector<ScoredRow>& rows);

}  // namespace memtape::report
