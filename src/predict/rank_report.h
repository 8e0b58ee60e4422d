// SPDX-License-Identifier: Apache-2.0
// RankReport from a played step: peaks per phase, what was alive at them, the largest tensors.
#pragma once

#include "framework/torch/train_loop.h"
#include "predict/step_play.h"
#include "report/prediction.h"

namespace memtape {

RankReport rank_report(const torch::TrainRun& run, const StepPlay& play, Bytes outside,
                       std::size_t largest);

}  // namespace memtape
