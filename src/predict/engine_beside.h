// SPDX-License-Identifier: Apache-2.0
// An engine that generates on the GPUs of a training, as vLLM does under trl: its share of a device
// is memory of another program.
#pragma once

#include <optional>

#include "mesh/device_setup.h"
#include "outcome/prediction.h"

namespace memtape {

struct TrainRecipe;

/// Nothing where there is none, or the device's memory is not known.
std::optional<OutsideMemory> engine_beside(const TrainRecipe& recipe, const DeviceSetup& device);

/// The device with that engine on it, outside of the allocator.
DeviceSetup with_engine_beside(DeviceSetup device, const TrainRecipe& recipe);

}  // namespace memtape
