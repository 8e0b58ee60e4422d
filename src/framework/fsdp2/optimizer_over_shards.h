// SPDX-License-Identifier: Apache-2.0
// Optimizers of torch.optim over DTensors: an op of which DTensor knows no sharding, or that would
// change a placement in place, raises (torch/distributed/tensor/_ops, _dispatch.py).
#pragma once

#include "base/result.h"

namespace memtape {
struct TrainRecipe;
}

namespace memtape::fsdp2 {

/// An Error where PyTorch's optimizer fails over sharded parameters.
Result<void> check_optimizer_over_shards(const TrainRecipe& recipe);

}  // namespace memtape::fsdp2
