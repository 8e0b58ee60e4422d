// SPDX-License-Identifier: Apache-2.0
// Megatron-LM's own arguments as far as a step's time depends on them.
#pragma once

#include "time/train_setup.h"

namespace memtape::megatron {

/// What --strategy says; what is said of eight bits beside it counts where it is silent.
void read_time(const TrainRecipe& recipe, const Config& strategy, time::TrainSetup& setup);

}  // namespace memtape::megatron
