// SPDX-License-Identifier: Apache-2.0
// transformers' Trainer (5.17, trainer.py) over accelerate: all batches of an optimizer step are on
// the GPU before its first forward, losses are summed and divided by the number of labels, outputs
// are converted to float32 under mixed precision, and the gradient norm is always computed.
#pragma once

#include "base/result.h"
#include "framework/torch/train_loop.h"
#include "framework/transformers/deepspeed_model.h"
#include "ghost/session.h"

namespace memtape {
struct TrainRecipe;
}

namespace memtape::transformers {

/// Runs the whole program on ghost tensors, as torch::run_training does.
Result<torch::TrainRun> run_trainer(const Config& config, const TrainRecipe& recipe,
                                    const Engines& engines, const ghost::DeviceTraits& device,
                                    int rank);

}  // namespace memtape::transformers
