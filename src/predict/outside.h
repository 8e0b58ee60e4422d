// SPDX-License-Identifier: Apache-2.0
// What a rank takes on its device outside of the allocator: the CUDA context with its modules, and
// NCCL's buffers for each communicator that the framework makes for the mesh.
#pragma once

#include <vector>

#include "mesh/nccl.h"
#include "outcome/prediction.h"
#include "predict/train.h"

namespace memtape {

struct TrainRecipe;

/// The communicators of a training. There is one for each axis of the mesh that has more than one
/// rank.
std::vector<Communicator> communicators(const TrainRecipe& recipe);

/// `device` is the one with an engine beside the training on it, if there is one.
std::vector<OutsideMemory> outside_memory(const TrainRecipe& recipe, const DeviceSetup& device);

/// What is left of `total` for the program itself if all of that takes the most that it may.
Bytes surely_left(Bytes total, const TrainRecipe& recipe, const DeviceSetup& device);

}  // namespace memtape
