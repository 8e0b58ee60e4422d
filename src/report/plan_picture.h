// SPDX-License-Identifier: Apache-2.0
// The plans as a picture: time to the right, memory upwards, each plan by its number.
#pragma once

#include <string>

#include "report/plan_text.h"

namespace memtape::report {

/// "" where fewer than two plans have both.
std::string picture(const PlanAnswer& answer, const PlanLook& look);

}  // namespace memtape::report
