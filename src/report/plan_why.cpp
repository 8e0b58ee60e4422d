// SPDX-License-Identifier: Apache-2.0
#include "report/plan_why.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"

namespace memtape::report {
namespace {

constexpr int kNameColumn = 26, kTimeColumn = 9;
/// Parts that take less of every plan are left out.
constexpr double kLeastShare = 0.005;

double seconds_of(const PlanRow& plan, const std::string& part) {
  double sum = 0.0;
  for (const PlanTime& one : plan.time)
    if (one.name == part) sum += one.seconds;
  return sum;
}

/// The parts of all plans, those that take most of the first one first.
std::vector<std::string> parts_of(const std::vector<PlanRow>& plans) {
  std::vector<std::string> parts;
  for (const PlanRow& plan : plans)
    for (const PlanTime& one : plan.time)
      if (one.seconds >= kLeastShare * plan.step_seconds.mid &&
          std::ranges::find(parts, one.name) == parts.end())
        parts.push_back(one.name);
  std::ranges::stable_sort(parts, std::ranges::greater(), [&](const std::string& part) {
    return seconds_of(plans.front(), part);
  });
  return parts;
}

std::string table_row(std::string_view name, const std::vector<std::string>& cells) {
  std::string out = "  " + pad_right(std::string(name), kNameColumn);
  for (const std::string& cell : cells) out += pad_left(cell, kTimeColumn);
  return out + "\n";
}

std::string time_by_part(const PlanAnswer& answer, std::size_t columns) {
  const std::vector<PlanRow> plans(
      answer.plans.begin(),
      answer.plans.begin() + static_cast<std::ptrdiff_t>(std::min(columns, answer.plans.size())));
  std::vector<std::string> heads, sums;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    heads.push_back(fmt::format("plan {}", i + 1));
    sums.push_back(seconds_words(plans[i].step_seconds.mid));
  }
  std::string out = "\nwhere a step goes\n" + table_row("", heads);
  for (const std::string& part : parts_of(plans)) {
    std::vector<std::string> cells;
    for (const PlanRow& plan : plans) {
      const double seconds = seconds_of(plan, part);
      cells.push_back(seconds > 0.0 ? seconds_words(seconds) : "-");
    }
    out += table_row(part, cells);
  }
  return out + table_row("a step", sums);
}

std::string beside_first(double more) {
  if (std::abs(more) < 0.005) return "as long as plan 1";
  return fmt::format("{:.0f} % {} than plan 1", std::abs(more) * 100.0,
                     more < 0.0 ? "less" : "more");
}

void add_paragraph(std::string& out, const std::string& text, int width) {
  for (const std::string& line : wrap(text, width - 4)) out += "    " + line + "\n";
}

void add_reason(std::string& out, std::string_view what, const PlanRow& plan, double more,
                int width) {
  out += fmt::format("  {}\n", what);
  add_paragraph(out, fmt::format("{} {}", plan.framework, plan.words), width);
  add_paragraph(out,
                fmt::format("{} a step, {}; {}", seconds_words(plan.step_seconds.mid),
                            beside_first(more), memory_words(plan)) +
                    (plan.fits == false ? fmt::format(" on rank {}", plan.peak_rank) : ""),
                width);
}

}  // namespace

std::string sentence(const ExpectedLayout& layout) {
  const PlanRow& plan = layout.plan;
  std::string said = fmt::format("{}: {} {} would take {:.3g} s, {}", layout.what, plan.framework,
                                 plan.words, plan.step_seconds.mid, beside_first(layout.more));
  if (plan.fits != false && !plan.fits_well()) said += "; it may not fit";
  if (plan.fits == false)
    said += fmt::format("{} lacks {} on rank {}", layout.more < 0.0 ? ", but" : ", and",
                        human_bytes(-plan.headroom_bytes.value_or(0)), plan.peak_rank);
  return said + ".";
}

std::string why_text(const PlanAnswer& answer, const PlanLook& look) {
  if (answer.plans.empty() || answer.plans.front().time.empty()) return {};
  const int columns = std::max(1, (look.width - kNameColumn - 2) / kTimeColumn);
  std::string out = time_by_part(answer, static_cast<std::size_t>(columns));
  if (answer.expected.empty() && answer.why_not.empty()) return out;
  out += "\nwhy not\n";
  const double first = answer.plans.front().step_seconds.mid;
  for (const WhyNot& one : answer.why_not)
    add_reason(out, "faster, but does not fit", one.plan, one.plan.step_seconds.mid / first - 1.0,
               look.width);
  for (const ExpectedLayout& one : answer.expected)
    add_reason(out, one.is_of_all_ranks ? one.what : one.what + " (rank 0)", one.plan, one.more,
               look.width);
  return out;
}

}  // namespace memtape::report
