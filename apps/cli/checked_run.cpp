// SPDX-License-Identifier: Apache-2.0
#include "checked_run.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "answer/table.h"
#include "base/text.h"
#include "report/headline.h"
#include "report/json_parts.h"

namespace memtape::cli {
namespace {

using report::JsonWriter;

constexpr std::size_t kMakersShown = 3;  ///< of a category that changed

std::string signed_bytes(Bytes bytes) {
  return fmt::format("{}{}", bytes < 0 ? "-" : "+", human_bytes(std::abs(bytes)));
}

std::string verdict_of(const CheckedRun& run) {
  std::vector<std::string> words;
  if (run.now.fails) words.emplace_back(name(run.now.verdict.value_or(VerdictWord::does_not_fit)));
  if (run.is_over()) words.emplace_back("over its limit");
  if (run.grew()) words.emplace_back("grew");
  if (words.empty()) words.emplace_back("ok");
  if (run.now.verdict == VerdictWord::may_not_fit && !run.now.fails)
    words.emplace_back("may not fit");
  if (!run.locked) words.emplace_back("not locked");
  return fmt::format("{}", fmt::join(words, ", "));
}

/// Names with their bytes, the largest changes first.
std::vector<std::pair<std::string, Bytes>> by_size(
    std::vector<std::pair<std::string, Bytes>> changed) {
  std::ranges::stable_sort(changed, [](const auto& a, const auto& b) {
    return std::abs(a.second) > std::abs(b.second);
  });
  return changed;
}

/// The makers of a category that changed; those that are too many for a line each as one.
std::string makers_text(const report::BytesByMaker& makers) {
  if (makers.size() == 1 && makers.contains("")) return {};
  std::string text;
  const auto sorted = by_size({makers.begin(), makers.end()});
  const std::size_t shown = sorted.size() <= kMakersShown + 1 ? sorted.size() : kMakersShown;
  Bytes rest = 0;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const auto& [maker, bytes] = sorted[i];
    if (i < shown)
      text += fmt::format("    {:>14}  {}\n", signed_bytes(bytes), maker.empty() ? "other" : maker);
    else
      rest += bytes;
  }
  if (shown < sorted.size())
    text += fmt::format("    {:>14}  {} others\n", signed_bytes(rest), sorted.size() - shown);
  return text;
}

/// What changed between the lock and now: its lines add up to the change.
std::string growth_text(const CheckedRun& run) {
  if (run.growth() == 0) return {};
  std::string text =
      fmt::format("\n{}: {} B since the lock\n", run.budget.name, with_commas(run.growth()));
  if (!run.locked->is_taken_apart())
    return text +
           "  of what it was made is not in the lock file: memtape check --update writes it\n";
  const report::PeakParts changed = run.differences();
  std::vector<std::pair<std::string, Bytes>> categories;
  for (const auto& [category, makers] : changed)
    categories.emplace_back(category, report::sum_of(makers));
  for (const auto& [category, bytes] : by_size(std::move(categories)))
    text += fmt::format("{:>14}  {}\n{}", signed_bytes(bytes), category,
                        makers_text(changed.at(category)));
  return text;
}

void write_differences(JsonWriter& out, const report::PeakParts& differences) {
  out.begin_array();
  for (const auto& [category, makers] : differences)
    for (const auto& [maker, bytes] : makers) {
      out.begin_object();
      out.member("category", category);
      out.member("maker", maker);
      out.member("bytes", bytes);
      out.end_object();
    }
  out.end_array();
}

std::string quiet_runs(const std::vector<CheckedRun>& runs) {
  std::string text;
  for (const CheckedRun& run : runs)
    text += report::QuietLine{run.budget.name, run.now.need.peak, run.budget.limit, verdict_of(run)}
                .text();
  return text;
}

}  // namespace

std::string text(const std::vector<CheckedRun>& runs, bool quiet, answer::Widths widths) {
  if (quiet) return quiet_runs(runs);
  using enum answer::Table::Align;
  answer::Table table({left, right, right, right, right, left});
  table.add({"RUN", "PEAK", "LIMIT", "LOCKED", "CHANGE", ""});
  for (const CheckedRun& run : runs)
    table.add({run.budget.name, human_bytes(run.now.need.peak),
               run.budget.limit ? human_bytes(*run.budget.limit) : "-",
               run.locked ? human_bytes(run.locked->peak) : "-",
               run.locked ? signed_bytes(run.growth()) : "-", verdict_of(run)});
  std::string text = table.text(widths.tables);
  for (const CheckedRun& run : runs) {
    if (run.now.verdict.value_or(VerdictWord::fits) != VerdictWord::fits)
      text += fmt::format("\n{} {}", run.budget.name, run.now.verdict_line);
    text += growth_text(run);
  }
  return text;
}

std::string json(const std::vector<CheckedRun>& runs, bool passes) {
  JsonWriter out(JsonWriter::Layout::pretty);
  out.begin_object();
  out.member("schema", "memtape/1");
  out.member("command", "check");
  out.member("passes", passes);
  out.key("runs");
  out.begin_array();
  for (const CheckedRun& run : runs) {
    out.begin_object();
    out.member("name", run.budget.name);
    out.member("command", run.budget.command);
    out.member("peak_device_bytes", run.now.need.peak);
    report::write(out, run.now.verdict);
    report::member_or_null(out, "limit_bytes", run.budget.limit);
    report::member_or_null(out, "locked_bytes",
                           run.locked ? std::optional(run.locked->peak) : std::nullopt);
    out.member("change_bytes", run.growth());
    out.member("does_not_fit", run.now.fails);
    out.member("over_limit", run.is_over());
    out.member("grew", run.grew());
    out.key("differences");
    write_differences(out, run.differences());
    out.end_object();
  }
  out.end_array();
  out.end_object();
  return std::move(out).take();
}

}  // namespace memtape::cli
