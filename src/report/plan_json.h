// SPDX-License-Identifier: Apache-2.0
// A plan's answer as JSON (schema "memtape/1", docs/json.md).
#pragma once

#include <string>

#include "report/plan_answer.h"

namespace memtape::report {

std::string json(const PlanAnswer& answer);

}  // namespace memtape::report
