// SPDX-License-Identifier: Apache-2.0
// `memtape plan serve MODEL`: which of the GPUs at hand hold so many users, each instance answered
// exactly and timed by estimate.
#pragma once

#include "answer/options.h"
#include "answer/outside.h"
#include "report/plan_answer.h"

namespace memtape::answer {

Result<PlanAnswer> plan_serve(const RawOptions& options, const Outside& outside);

}  // namespace memtape::answer
