// SPDX-License-Identifier: Apache-2.0
// Megatron-LM's own arguments, as far as the time of a step depends on them.
#pragma once

#include "time/train_setup.h"

namespace memtape::megatron {

/// Applies what --strategy says. Where it says nothing about eight bits, the recipe counts.
void read_time(const TrainRecipe& recipe, time::TrainSetup& setup);

}  // namespace memtape::megatron
