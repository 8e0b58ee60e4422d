// SPDX-License-Identifier: Apache-2.0
// `memtape plan train MODEL`: what fits, ranked, each plan with the command that answers for it.
#pragma once

#include <functional>

#include "answer/options.h"
#include "answer/outside.h"
#include "plan/search.h"
#include "report/plan_answer.h"

namespace memtape::answer {

/// Who watches the search, and may end it: the best so far is the answer then.
struct PlanWatch {
  std::function<bool()> stopped = [] { return false; };
  std::function<void(const plan::Progress&)> progress = [](const plan::Progress&) {};
};

Result<PlanAnswer> plan_train(const RawOptions& options, const Outside& outside,
                              const PlanWatch& watch = {});

}  // namespace memtape::answer
