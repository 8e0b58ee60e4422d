// SPDX-License-Identifier: Apache-2.0
// Why the plans are as they are: the time of each by its parts, side by side, and what became of
// the layouts that people expect.
//     compute: gemm            2.35 s    2.35 s
//     bubble: pipeline         815 ms    610 ms
#pragma once

#include <string>

#include "report/plan_text.h"

namespace memtape::report {

/// The tables of --why.
std::string why_text(const PlanAnswer& answer, const PlanLook& look);

/// "Without a pipeline: megatron-core tp 4 would take 5.63 s, 14 % more than plan 1, and lacks
/// 17.92 GiB on rank 0."
std::string sentence(const ExpectedLayout& layout);

}  // namespace memtape::report
