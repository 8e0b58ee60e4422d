// SPDX-License-Identifier: Apache-2.0
// The plans as one self-contained web page: where the time of each goes, how full its GPU is, the
// first one's pipeline over time, and why not others. Its own files are html/plan.html and plan.js.
#pragma once

#include <string>

#include "report/plan_answer.h"

namespace memtape::report {

std::string html(const PlanAnswer& answer);

}  // namespace memtape::report
