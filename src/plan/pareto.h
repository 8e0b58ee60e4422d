// SPDX-License-Identifier: Apache-2.0
// The Pareto front of time and memory.
#pragma once

#include <vector>

#include "report/plan_answer.h"

namespace memtape::plan {

/// The plans that no other plan beats in both time and memory, sorted by time.
std::vector<std::size_t> pareto_front(const std::vector<PlanRow>& plans);

}  // namespace memtape::plan
