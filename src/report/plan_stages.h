// SPDX-License-Identifier: Apache-2.0
// The pipeline of the first plan as a picture: a line for each stage, on which time grows to the
// right, and every column shows what the stage does then; behind it the share in which it waits.
//     stage 0  ░░░░▒▒▒▒▒▒▒▒▒▒▒▒▒▒··█··█··█··█  18 %
#pragma once

#include <string>

#include "report/plan_text.h"

namespace memtape::report {

/// The picture is "" if the first plan has no pipeline. Of more than kMostStages only some are
/// drawn, the first and the last among them.
std::string stages_picture(const PlanAnswer& answer, const PlanLook& look);

inline constexpr std::size_t kMostStages = 16;

}  // namespace memtape::report
