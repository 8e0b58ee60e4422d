// SPDX-License-Identifier: Apache-2.0
#include "report/plan_tables.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include <fmt/format.h>

#include "report/plan_text.h"

namespace memtape::report {
namespace {

/// Parts that take less of every plan are left out.
constexpr double kLeastShare = 0.005;

double seconds_of(const PlanRow& plan, const std::string& part) {
  double sum = 0.0;
  for (const PlanTime& one : plan.time)
    if (one.name == part) sum += one.seconds;
  return sum;
}

/// The parts of all plans, those that take most of the first one first.
std::vector<std::string> parts_of(std::span<const PlanRow> plans) {
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

PlanReason plan_reason(std::string what, const PlanRow& plan, double more) {
  PlanReason said{.what = std::move(what),
                  .layout = fmt::format("{} {}", plan.framework, plan.words),
                  .step = fmt::format("{} a step, {}", seconds_words(plan.step_seconds.mid),
                                      beside_first(more)),
                  .memory = memory_words(plan)};
  if (plan.fits == false) said.memory += fmt::format(" on rank {}", plan.peak_rank);
  return said;
}

}  // namespace

std::vector<PlanTableRow> time_by_part(std::span<const PlanRow> plans) {
  std::vector<PlanTableRow> rows;
  if (plans.empty() || plans.front().time.empty()) return rows;
  for (const std::string& part : parts_of(plans)) {
    PlanTableRow& row = rows.emplace_back();
    row.name = part;
    for (const PlanRow& plan : plans) {
      const double seconds = seconds_of(plan, part);
      row.cells.push_back(seconds > 0.0 ? seconds_words(seconds) : "-");
    }
  }
  PlanTableRow& sums = rows.emplace_back();
  sums.name = "a step";
  for (const PlanRow& plan : plans) sums.cells.push_back(seconds_words(plan.step_seconds.mid));
  return rows;
}

std::vector<PlanReason> reasons_why_not(const PlanAnswer& answer) {
  std::vector<PlanReason> reasons;
  if (answer.plans.empty()) return reasons;
  const double first = answer.plans.front().step_seconds.mid;
  for (const WhyNot& one : answer.why_not)
    reasons.push_back(
        plan_reason("faster, but does not fit", one.plan, one.plan.step_seconds.mid / first - 1.0));
  for (const ExpectedLayout& one : answer.expected)
    reasons.push_back(
        plan_reason(one.is_of_all_ranks ? one.what : one.what + " (rank 0)", one.plan, one.more));
  return reasons;
}

std::string beside_first(double more) {
  if (std::abs(more) < 0.005) return "as long as plan 1";
  return fmt::format("{:.0f} % {} than plan 1", std::abs(more) * 100.0,
                     more < 0.0 ? "less" : "more");
}

}  // namespace memtape::report
