// SPDX-License-Identifier: Apache-2.0
// What fully_shard can do with less memory (FSDPModule.set_requires_gradient_sync).
#pragma once

#include <vector>

#include "framework/torch/lever.h"

namespace memtape::fsdp2 {

/// Whole gradients need not wait for the last micro-batch of a step.
std::vector<Lever> reduced_each(const TrainRecipe& recipe);

}  // namespace memtape::fsdp2
