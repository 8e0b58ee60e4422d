// SPDX-License-Identifier: Apache-2.0
// `memtape plan train MODEL`: the plans that fit, in their ranking, each with the command that
// answers for it.
#pragma once

#include <functional>

#include "answer/options.h"
#include "answer/outside.h"
#include "plan/search.h"
#include "report/plan_answer.h"

namespace memtape::answer {

/// Whoever watches the search and may end it. The answer is then the best so far.
struct PlanWatch {
  std::function<bool()> stopped = [] { return false; };
  std::function<void(const plan::Progress&)> progress = [](const plan::Progress&) {};
};

Result<PlanAnswer> plan_train(const RawOptions& options, const Outside& outside,
                              const PlanWatch& watch = {});

}  // namespace memtape::answer
