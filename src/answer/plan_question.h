// SPDX-License-Identifier: Apache-2.0
// Gives `memtape plan train` its meaning: a field of plans for every framework that is asked about,
// on every number of GPUs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "answer/options.h"
#include "answer/outside.h"
#include "plan/search.h"
#include "predict/train.h"
#include "time/step_time.h"

namespace memtape::answer {

struct PlanQuestion {
  std::vector<plan::Field> fields;
  DeviceSetup device;
  std::shared_ptr<const time::StepClock> clock;  ///< all fields use it
  plan::SearchOptions search;
  std::vector<std::string> notes;  ///< the frameworks that were left out, and what was assumed
};

Result<PlanQuestion> plan_question(const RawOptions& options, const Config& config,
                                   const Outside& outside);

}  // namespace memtape::answer
