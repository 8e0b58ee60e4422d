// SPDX-License-Identifier: Apache-2.0
// PlanClock: applies the estimate of the room `time` to candidates.
#pragma once

#include <memory>
#include <utility>

#include "plan/clock.h"
#include "plan/space.h"
#include "time/step_time.h"

namespace memtape::plan {

class PlanClock : public Clock {
 public:
  /// `like` holds what a recipe of the framework says beside the sizes.
  PlanClock(const Job& job, std::shared_ptr<const time::StepClock> clock, time::TrainSetup like)
      : job_(job), clock_(std::move(clock)), like_(like) {}

  std::unique_ptr<Clock> another() const override;
  double seconds(const Candidate& candidate) const override {
    return clock_->train_seconds(setup(candidate));
  }
  Timing timing(const Candidate& candidate) const override;
  std::vector<PlanStage> stages(const Candidate& candidate) const override;

 private:
  time::TrainSetup setup(const Candidate& candidate) const;

  const Job& job_;
  const std::shared_ptr<const time::StepClock> clock_;
  const time::TrainSetup like_;
};

}  // namespace memtape::plan
