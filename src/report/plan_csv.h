// SPDX-License-Identifier: Apache-2.0
// The plans as CSV, with a line for each.
#pragma once

#include <string>

#include "report/plan_answer.h"

namespace memtape::report {

std::string csv(const PlanAnswer& answer);

}  // namespace memtape::report
