// SPDX-License-Identifier: Apache-2.0
// The pipeline of the first plan as a picture: a line for each stage, on which time grows to the
// right, and every column shows what the stage does then; behind it the share in which it waits.
//     stage 0  ░░░░▒▒▒▒▒▒▒▒▒▒▒▒▒▒··█··█··█··█  18 %
#pragma once

#include <string>
#include <vector>

#include "report/plan_text.h"

namespace memtape::report {

/// The picture is "" if the first plan has no pipeline. Of more than kMostStages only some are
/// drawn, the first and the last among them.
std::string stages_picture(const PlanAnswer& answer, const PlanLook& look);

inline constexpr std::size_t kMostStages = 16;

/// The share of a slice of time that forwards and backwards take.
struct Slice {
  double forward = 0.0, backward = 0.0;
};
/// The time until `end` in `count` slices.
std::vector<Slice> slices_of(const PlanStage& stage, double end, std::size_t count);

}  // namespace memtape::report
