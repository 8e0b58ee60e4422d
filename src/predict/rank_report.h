// SPDX-License-Identifier: Apache-2.0
// RankReport from a played step: peaks per phase, what was alive at them, the largest tensors.
#pragma once

#include "framework/torch/train_loop.h"
#include "outcome/prediction.h"
#include "predict/step_play.h"

namespace memtape {

/// Levels alone: not what was alive at them.
RankReport levels_report(const torch::TrainRun& run, const StepPlay& play, Bytes outside);

RankReport rank_report(const torch::TrainRun& run, const StepPlay& play, Bytes outside,
                       std::size_t largest);

}  // namespace memtape
