// SPDX-License-Identifier: Apache-2.0
#include "report/score.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "base/text.h"

namespace memtape::report {
namespace {

Distribution summed_up(std::string key, std::vector<double> errors, std::int64_t exact) {
  Distribution d{
      .key = std::move(key), .rows = static_cast<std::int64_t>(errors.size()), .exact = exact};
  if (errors.empty()) return d;
  std::sort(errors.begin(), errors.end());
  double sum = 0;
  for (const double e : errors) sum += e;
  d.mean = sum / static_cast<double>(errors.size());
  d.median = errors[errors.size() / 2];
  d.p95 = errors[static_cast<std::size_t>(0.95 * static_cast<double>(errors.size() - 1))];
  d.max = errors.back();
  return d;
}

struct Gathered {
  std::vector<double> errors;
  std::int64_t exact = 0;

  void add(const ScoredValue& value) {
    errors.push_back(std::abs(value.error_percent()));
    exact += value.exact() ? 1 : 0;
  }
};

/// Rows with the key's error, furthest off first; rows that are exact are left out.
std::vector<std::pair<const ScoredRow*, const ScoredValue*>> off_rows(
    const std::vector<ScoredRow>& rows, std::string_view key) {
  std::vector<std::pair<const ScoredRow*, const ScoredValue*>> off;
  for (const ScoredRow& row : rows)
    for (const ScoredValue& value : row.values)
      if (value.key == key && !value.exact()) off.emplace_back(&row, &value);
  std::stable_sort(off.begin(), off.end(), [](const auto& a, const auto& b) {
    return std::abs(a.second->error_percent()) > std::abs(b.second->error_percent());
  });
  return off;
}

/// The one whose error is told, and whose rows are listed where they are off.
std::string lead_key(const std::vector<std::string>& keys) {
  const auto found = std::ranges::find(keys, "peak_allocated_bytes");
  return found != keys.end() ? *found : keys.empty() ? std::string() : keys.back();
}

/// "peak_allocated_bytes" as "allocated".
std::string short_name(std::string_view key) {
  if (key.starts_with("peak_")) key.remove_prefix(5);
  if (key.ends_with("_bytes")) key.remove_suffix(6);
  return std::string(key);
}

std::string markdown_group(const std::vector<ScoredRow>& rows, const std::string& group) {
  const std::vector<std::string> keys = main_figures(rows);
  const std::string lead = lead_key(keys);
  std::string out = fmt::format("\n### By {}\n\n| {} | rows |", group, group);
  std::string rule = "|---|---:|";
  for (const std::string& key : keys) {
    out += fmt::format(" {} exact |", short_name(key));
    rule += "---:|";
  }
  out += fmt::format(" mean {} error | largest |\n{}---:|---:|\n", short_name(lead), rule);
  for (const auto& [value, told] : by_group(rows, group, lead)) {
    out += fmt::format("| {} | {} |", value, told.rows);
    for (const std::string& key : keys)
      for (const auto& [name, distribution] : by_group(rows, group, key))
        if (name == value) out += fmt::format(" {:.1f} % |", distribution.exact_percent());
    out += fmt::format(" {:.3f} % | {:.2f} % |\n", told.mean, told.max);
  }
  return out;
}

std::vector<std::string> group_names(const std::vector<ScoredRow>& rows) {
  std::vector<std::string> names;
  for (const ScoredRow& row : rows)
    for (const auto& [group, value] : row.groups)
      if (std::find(names.begin(), names.end(), group) == names.end()) names.push_back(group);
  return names;
}

std::int64_t answered(const std::vector<ScoredRow>& rows) {
  return std::count_if(rows.begin(), rows.end(),
                       [](const ScoredRow& row) { return row.failure.empty(); });
}

}  // namespace

double ScoredValue::error_percent() const {
  if (measured == 0) return predicted == 0 ? 0.0 : 100.0;
  return 100.0 * static_cast<double>(predicted - measured) / static_cast<double>(measured);
}

std::vector<Distribution> distributions(const std::vector<ScoredRow>& rows) {
  std::vector<std::string> order;
  std::map<std::string, Gathered> gathered;
  for (const ScoredRow& row : rows)
    for (const ScoredValue& value : row.values) {
      if (!gathered.contains(value.key)) order.push_back(value.key);
      gathered[value.key].add(value);
    }
  std::vector<Distribution> result;
  for (const std::string& key : order)
    result.push_back(summed_up(key, gathered[key].errors, gathered[key].exact));
  return result;
}

std::vector<std::pair<std::string, Distribution>> by_group(const std::vector<ScoredRow>& rows,
                                                           const std::string& group,
                                                           const std::string& key) {
  std::map<std::string, Gathered> gathered;
  for (const ScoredRow& row : rows)
    for (const auto& [name, value] : row.groups) {
      if (name != group) continue;
      for (const ScoredValue& scored : row.values)
        if (scored.key == key) gathered[value].add(scored);
    }
  std::vector<std::pair<std::string, Distribution>> result;
  for (auto& [value, g] : gathered) result.emplace_back(value, summed_up(key, g.errors, g.exact));
  return result;
}

std::vector<std::string> main_figures(const std::vector<ScoredRow>& rows) {
  constexpr std::array kPeaks{"peak_requested_bytes", "peak_allocated_bytes",
                              "peak_reserved_bytes"};
  const std::vector<Distribution> all = distributions(rows);
  std::vector<std::string> keys;
  for (const char* peak : kPeaks)
    if (std::ranges::find(all, peak, &Distribution::key) != all.end()) keys.emplace_back(peak);
  if (!keys.empty() || all.empty()) return keys;
  const std::int64_t most = std::ranges::max(all, {}, &Distribution::rows).rows;
  for (const Distribution& figure : all)
    if (figure.rows == most && keys.size() < kPeaks.size()) keys.push_back(figure.key);
  return keys;
}

std::string score_text(const std::vector<ScoredRow>& rows, std::size_t worst) {
  constexpr std::size_t kNames = 28;
  std::string out = fmt::format(
      "{} of {} rows predicted\n\n{:<{}} {:>6} {:>7} {:>8} {:>8} {:>8} {:>8}\n", answered(rows),
      rows.size(), "", kNames, "rows", "exact", "mean", "median", "p95", "largest");
  for (const Distribution& d : distributions(rows)) {
    // A longer name stands on a line of its own.
    if (d.key.size() > kNames) out += d.key + "\n";
    out += fmt::format("{:<{}} {:>6} {:>5.1f} % {:>6.3f} % {:>6.3f} % {:>6.3f} % {:>6.2f} %\n",
                       d.key.size() > kNames ? "" : d.key, kNames, d.rows, d.exact_percent(),
                       d.mean, d.median, d.p95, d.max);
  }
  std::size_t shown = 0;
  const std::string lead = lead_key(main_figures(rows));
  for (const auto& [row, value] : off_rows(rows, lead)) {
    if (shown++ == worst) break;
    if (shown == 1) out += fmt::format("\nfurthest off in {} (predicted, measured)\n", lead);
    out += fmt::format("  {:>+9.3f} %  {:>18} {:>18}\n      {}\n", value->error_percent(),
                       with_commas(value->predicted), with_commas(value->measured), row->id);
  }
  for (const ScoredRow& row : rows)
    if (!row.failure.empty()) out += fmt::format("  no prediction  {}: {}\n", row.id, row.failure);
  return out;
}

std::string score_markdown(const std::vector<ScoredRow>& rows) {
  std::string out = fmt::format(
      "{} of {} rows predicted. Errors are absolute, in per cent of the measured value.\n\n"
      "| figure | rows | to the byte | mean | median | p95 | largest "
      "|\n|---|---:|---:|---:|---:|---:|---:|\n",
      answered(rows), rows.size());
  for (const Distribution& d : distributions(rows))
    out += fmt::format("| `{}` | {} | {:.1f} % | {:.3f} % | {:.3f} % | {:.3f} % | {:.2f} % |\n",
                       d.key, d.rows, d.exact_percent(), d.mean, d.median, d.p95, d.max);
  for (const std::string& group : group_names(rows)) out += markdown_group(rows, group);
  const std::string lead = lead_key(main_figures(rows));
  const auto off = off_rows(rows, lead);
  if (!off.empty())
    out += fmt::format(
        "\n### Rows that are off in {}\n\n| row | measured | predicted | error "
        "|\n|---|---:|---:|---:|\n",
        lead);
  for (const auto& [row, value] : off)
    out += fmt::format("| {} | {} | {} | {:+.3f} % |\n", row->id, with_commas(value->measured),
                       with_commas(value->predicted), value->error_percent());
  std::map<std::string, int> failures;
  for (const ScoredRow& row : rows)
    if (!row.failure.empty()) ++failures[row.failure];
  if (!failures.empty())
    out += "\n### Rows without a prediction\n\n| rows | reason |\n|---:|---|\n";
  for (const auto& [reason, count] : failures) out += fmt::format("| {} | {} |\n", count, reason);
  return out;
}

}  // namespace memtape::report
