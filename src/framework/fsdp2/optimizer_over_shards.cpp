// SPDX-License-Identifier: Apache-2.0
#include "framework/fsdp2/optimizer_over_shards.h"

#include "workload/train_recipe.h"

namespace memtape::fsdp2 {

/// aten._fused_sgd_ and aten._foreach_lerp_.ScalarList have no sharding strategy; Adafactor's loop
/// squares a norm over the sharded dimension in place.
Result<void> check_optimizer_over_shards(const TrainRecipe& recipe) {
  const OptimizerName name = recipe.optimizer;
  const bool is_sgd = name == OptimizerName::sgd || name == OptimizerName::sgd_momentum;
  if (is_sgd && recipe.optimizer_impl == OptimizerImpl::fused)
    return bad_input("PyTorch 2.11 has no fused SGD over the shards of fully_shard",
                     "--optimizer-impl", "foreach or for-loop");
  if (name == OptimizerName::adafactor)
    return bad_input("PyTorch 2.11's Adafactor fails over the shards of fully_shard", "--optimizer",
                     "adamw, or adafactor-hf");
  return {};
}

}  // namespace memtape::fsdp2
