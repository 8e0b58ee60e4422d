// SPDX-License-Identifier: Apache-2.0
// Clock: how long a step of a candidate takes, as precisely as a search needs it.
#pragma once

#include <memory>

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
  /// One that says the same and may be asked by another thread.
  virtual std::unique_ptr<Clock> another() const = 0;
  /// The seconds by which candidates are sorted.
  virtual double seconds(const Candidate& candidate) const = 0;
  /// The seconds with their range and their parts.
  virtual Timing timing(const Candidate& candidate) const = 0;
  /// What each stage of its pipeline does and when; nothing for a candidate without one.
  virtual std::vector<PlanStage> stages(const Candidate& candidate) const = 0;
};

}  // namespace memtape::plan
