// SPDX-License-Identifier: Apache-2.0
// The tables of --why in words, which the text and the page show alike.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "report/plan_answer.h"

namespace memtape::report {

struct PlanTableRow {
  std::string name;
  std::vector<std::string> cells;  ///< of each plan
};

/// Where a step of each plan goes: a row for each part, those that take most of the first plan
/// first, and one for the whole step.
std::vector<PlanTableRow> time_by_part(std::span<const PlanRow> plans);

/// A layout that is not among the plans, and why.
struct PlanReason {
  std::string what, layout, step, memory;
};
std::vector<PlanReason> reasons_why_not(const PlanAnswer& answer);

/// "14 % more than plan 1"
std::string beside_first(double more);

}  // namespace memtape::report
