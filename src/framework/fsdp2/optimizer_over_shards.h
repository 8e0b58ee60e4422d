// SPDX-License-Identifier: Apache-2.0
// Optimizers of torch.optim over DTensors. An op raises if DTensor knows no sharding for it, or if
// it would change a placement in place (torch/distributed/tensor/_ops, _dispatch.py).
#pragma once

#include "base/result.h"

namespace memtape {
struct TrainRecipe;
}

namespace memtape::fsdp2 {

/// An Error if PyTorch's optimizer fails over sharded parameters.
Result<void> check_optimizer_over_shards(const TrainRecipe& recipe);

}  // namespace memtape::fsdp2
