// SPDX-License-Identifier: Apache-2.0
// The plain PyTorch training loop: batch on the GPU, forward (under autocast for amp-*), loss,
// backward, clip, step, zero_grad(set_to_none=True). The measured step is the third of a fresh
// process, when all state exists.
#pragma once

#include <memory>

#include "base/result.h"
#include "family/pretrained.h"
#include "ghost/session.h"
#include "workload/train_recipe.h"

namespace memtape::torch {

inline constexpr int kSteps = 3;

/// From the second micro-batch on they are alike, gradients being there already; so many are run at
/// most.
inline constexpr std::int64_t kMostMicroBatches = 16;

/// Static sizes, counted as torch would from the live objects: each storage once.
struct StaticBytes {
  std::int64_t parameters = 0, trainable_parameters = 0;
  Bytes parameter_bytes = 0, buffer_bytes = 0, optimizer_state_bytes = 0, gradient_bytes = 0;
  Bytes managed_bytes = 0;  ///< optimizer states in managed memory, which torch does not count
};

struct TrainRun {
  Tape tape;
  StaticBytes statics;
};

/// Runs the whole program on ghost tensors: builds the model, makes kSteps steps, and returns its
/// tape. Marks divide it.
Result<TrainRun> run_training(const Config& config, const TrainRecipe& recipe,
                              const ghost::DeviceTraits& device);

}  // namespace memtape::torch
