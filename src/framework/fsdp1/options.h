// SPDX-License-Identifier: Apache-2.0
// The options of FullyShardedDataParallel (FSDP1) that affect memory, under their names there
// (torch/distributed/fsdp/fully_sharded_data_parallel.py, api.py).
#pragma once

#include <optional>
#include <string_view>

#include "base/dtype.h"
#include "base/result.h"
#include "mesh/layout.h"

namespace memtape {
struct TrainRecipe;
}

namespace memtape::fsdp1 {

enum class ShardingStrategy { full_shard, shard_grad_op, no_shard, hybrid_shard, hybrid_zero2 };
enum class BackwardPrefetch { none, pre, post };

struct Options {
  ShardingStrategy sharding_strategy = ShardingStrategy::full_shard;
  std::optional<DType> param_dtype, reduce_dtype, buffer_dtype;  ///< MixedPrecision
  bool cast_root_forward_inputs = true;
  bool cast_forward_inputs = false;  ///< for every unit
  bool use_orig_params = false;
  BackwardPrefetch backward_prefetch = BackwardPrefetch::pre;
  bool forward_prefetch = false;
  bool cpu_offload = false;
  bool sync_module_states = false;  ///< the states of each unit are broadcast before it is divided
  bool upcasts_trainable = false;   ///< accelerate turns 16-bit flat parameters into float32
  bool wraps_layers = true;         ///< false: the whole model is one unit
  /// A module is a unit if it holds that many parameters besides those of the units inside of it
  /// (size_based_auto_wrap_policy of torch/distributed/fsdp/wrap.py).
  std::optional<std::int64_t> min_num_params;
  /// Modules with one trained weight are units, too: fsdp_auto_wrap_policy of peft 0.21.
  bool wraps_trained_leaves = false;
  /// ignored_modules: lora_A and lora_B stay whole on every rank (lora_adapters_switch_ddp_from_fsdp
  /// of fms_acceleration_foak 0.4, utils.py).
  bool ignores_adapters = false;
  /// apply_activation_checkpointing after FSDP: a layer's wrapper lies inside of its unit, which is
  /// not given a leaf then.
  bool checkpoints_inside = false;
  bool no_sync = true;  ///< while gradients are accumulated
  Layout mesh{{}};      ///< its axes are "replicate" and "shard"

  bool is_sharded() const { return sharding_strategy != ShardingStrategy::no_shard; }
  bool reshards_after_forward() const {
    return sharding_strategy == ShardingStrategy::full_shard ||
           sharding_strategy == ShardingStrategy::hybrid_shard;
  }
  bool is_hybrid() const {
    return sharding_strategy == ShardingStrategy::hybrid_shard ||
           sharding_strategy == ShardingStrategy::hybrid_zero2;
  }
};

/// Reads --strategy into the recipe's own part.
Result<void> read_strategy(std::string_view json, TrainRecipe& recipe);
/// The options that the recipe says, with what its layout decides.
Result<Options> options_of(const TrainRecipe& recipe);

}  // namespace memtape::fsdp1
