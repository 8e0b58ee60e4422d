// SPDX-License-Identifier: Apache-2.0
// A plan's answer as text: the ranked plans, what would be faster but does not fit, and the command
// of the best plan.
#pragma once

#include <string>

#include "report/plan_answer.h"
#include "report/style.h"

namespace memtape::report {

struct PlanLook {
  int width = 80;
  Style style;
};

std::string text(const PlanAnswer& answer, const PlanLook& look);
/// "61.78 GiB on the fullest GPU, 17.40 GiB to spare"
std::string memory_words(const PlanRow& plan);
/// " with 8 of 256 micro-batches", where its bytes are theirs; else "".
std::string of_few(const PlanRow& plan);
/// "3.1 s (2.35 s to 4.1 s) a step"
std::string time_words(const PlanRow& plan, bool serves);
/// "815 ms": three digits, as far as an estimate goes.
std::string seconds_words(double seconds);
/// Only the options of the best plan.
std::string quiet_text(const PlanAnswer& answer);

}  // namespace memtape::report
