// SPDX-License-Identifier: Apache-2.0
// What accelerate makes of Trainer's model on several GPUs (accelerate 1.15, utils/dataclasses.py).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace memtape {

/// accelerate's DistributedDataParallelKwargs as Trainer sets them; what is not said follows from
/// the model.
struct DdpRecipe {
  std::optional<bool> find_unused_parameters;
  std::optional<double> bucket_cap_mb;
  bool broadcast_buffers = true, static_graph = false;
};

/// accelerate's FullyShardedDataParallelPlugin, as far as memory goes, with what Trainer puts in
/// where fsdp_config says nothing.
struct FsdpRecipe {
  enum class Wrap { layers, by_size, nothing };
  int version = 2;
  bool reshard_after_forward = true;              ///< of version 2
  std::string sharding_strategy = "FULL_SHARD";   ///< of version 1
  std::string backward_prefetch = "NO_PREFETCH";  ///< of version 1, as forward_prefetch ...
  bool forward_prefetch = false, use_orig_params = true, sync_module_states = true;
  bool cpu_offload = false, activation_checkpointing = false;
  Wrap wrap = Wrap::layers;
  std::int64_t min_num_params = 0;
  std::vector<std::string> layer_classes;  ///< none: the model's own
};

}  // namespace memtape
