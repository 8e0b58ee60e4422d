// SPDX-License-Identifier: Apache-2.0
// Bounds of a training run with settings whose effect on memory is not modelled. The effect is
// unknown, so the range is a convention and not a limit: it begins at what stays between steps,
// which no step can do without, and ends at twice what a step adds to that.
#pragma once

#include "mesh/device_setup.h"
#include "model/config.h"
#include "outcome/prediction.h"

namespace memtape {

struct TrainRecipe;

/// Does nothing if all settings are modelled. `rank` is the fullest one.
void widen_by_not_modelled(Bounds& bounds, const TrainRecipe& recipe, const RankReport& rank);

/// No upper end, where something adds an amount that nothing limits, or where the device cannot run
/// the attention that is asked for, so that another one does.
void open_by_not_bounded(Bounds& bounds, const TrainRecipe& recipe, const DeviceSetup& device);

/// Where images of a batch are left out, the upper end is that of a batch of images alone. A tower
/// with fewer layers' states, or with a kernel for its attention, takes less.
void widen_by_images(Bounds& bounds, const Config& config, const TrainRecipe& recipe);

/// Replicas of one process that compute a layer again at the same time each have zeros for all
/// parameters on the first GPU, and their sums (nn.DataParallel; checkpoints with reentrant
/// backwards). `rank` is that GPU.
void widen_by_replicas(Bounds& bounds, const TrainRecipe& recipe, const RankReport& rank);

/// Where threads load weights ahead of what quantizes them, all of them may lie on the device in 16
/// bits before a step is taken.
void widen_by_loading(Bounds& bounds, const TrainRecipe& recipe, std::int64_t parameters);

}  // namespace memtape
