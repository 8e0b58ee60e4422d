// SPDX-License-Identifier: Apache-2.0
// The loop around accelerate that transformers' examples without Trainer share (5.17,
// examples/pytorch, run_*_no_trainer.py; accelerate 1.15, accelerator.py, data_loader.py,
// optimizer.py): AdamW over two groups of parameters, no clipping, and an evaluation after the
// epoch. What a step leaves in Python's names lives until the next step replaces it: the batch, the
// outputs with their logits, and the keys and values that a decoder's forward caches, because the
// loop does not switch off use_cache of the configuration.
#pragma once

#include "base/result.h"
#include "framework/torch/train_loop.h"
#include "ghost/session.h"

namespace memtape {
struct TrainRecipe;
}

namespace memtape::transformers {

/// Runs the whole program on ghost tensors, as run_trainer does.
Result<torch::TrainRun> run_accelerate_loop(const Config& config, const TrainRecipe& recipe,
                                            const ghost::DeviceTraits& device, int rank);

}  // namespace memtape::transformers
