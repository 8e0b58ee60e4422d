// SPDX-License-Identifier: Apache-2.0
// Clock: how long a step of a candidate takes, as far as a search wants to know.
#pragma once

#include "plan/candidate.h"
#include "report/plan_answer.h"

namespace memtape::plan {

struct Timing {
  SecondsRange seconds;
  double tokens_per_second = 0.0;
  std::optional<double> mfu;
  std::vector<PlanTime> parts;
  std::vector<std::string> assumptions;
};

class Clock {
 public:
  virtual ~Clock() = default;
  /// By which candidates are put in order.
  virtual double seconds(const Candidate& candidate) const = 0;
  /// With its range and its parts.
  virtual Timing timing(const Candidate& candidate) const = 0;
};

}  // namespace memtape::plan
