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
  bool layers_differ = false;  ///< layers taken for equal were not: the run is void
};

/// Whether equal layers may be written down instead of run (ghost/autograd/equal_layers.h). The
/// tape is the same.
enum class EqualLayerRuns { written_down, all_run };

/// Runs `program(runs)` with equal layers written down and, where they turn out to differ, once
/// more with every layer run.
template <class Program>
Result<TrainRun> run_equal_layers(const Program& program) {
  Result<TrainRun> run = program(EqualLayerRuns::written_down);
  if (run && run->layers_differ) return program(EqualLayerRuns::all_run);
  return run;
}

/// Runs the whole program on ghost tensors: builds the model, makes kSteps steps, and returns its
/// tape. Marks divide it.
Result<TrainRun> run_training(const Config& config, const TrainRecipe& recipe,
                              const ghost::DeviceTraits& device);
/// The same, in one way or the other.
Result<TrainRun> run_training(const Config& config, const TrainRecipe& recipe,
                              const ghost::DeviceTraits& device, EqualLayerRuns runs);

}  // namespace memtape::torch
