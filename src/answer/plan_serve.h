// SPDX-License-Identifier: Apache-2.0
// `memtape plan serve MODEL`: which of the available GPUs can hold that many users. Each instance
// is answered exactly, and its time is estimated.
#pragma once

#include "answer/options.h"
#include "answer/outside.h"
#include "report/plan_answer.h"

namespace memtape::answer {

Result<PlanAnswer> plan_serve(const RawOptions& options, const Outside& outside);

}  // namespace memtape::answer
