// SPDX-License-Identifier: Apache-2.0
// The plans as a picture: time grows to the right and memory upwards, and each plan is shown by its
// number.
#pragma once

#include <string>

#include "report/plan_text.h"

namespace memtape::report {

/// The picture is "" if fewer than two plans have both figures.
std::string picture(const PlanAnswer& answer, const PlanLook& look);

}  // namespace memtape::report
