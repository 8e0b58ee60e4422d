// SPDX-License-Identifier: Apache-2.0
// The options of fully_shard that decide memory, by their names there
// (torch/distributed/fsdp/_fully_shard), and the shape of the device mesh: one axis shards, a
// second before it replicates (HSDP).
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "mesh/layout.h"
#include "workload/train_recipe.h"

namespace memtape::fsdp2 {

/// MixedPrecisionPolicy.
struct MixedPrecision {
  std::optional<DType> param_dtype, reduce_dtype, output_dtype;
  bool cast_forward_inputs = true;
};

struct Options {
  MixedPrecision mixed_precision;
  std::optional<bool> reshard_after_forward;  ///< none: all but the root
  std::optional<std::int64_t> reshard_to;     ///< to so many shards, not to all
  bool cpu_offload = false;                   ///< CPUOffloadPolicy
  bool reshard_after_backward = true;         ///< set_reshard_after_backward while accumulating
  bool wrap_ends = false;                     ///< embedding, and norm with head, are units too
  Layout mesh{{}};                            ///< axes "replicate" and "shard"
};

Result<Options> read_options(const TrainRecipe& recipe);

}  // namespace memtape::fsdp2
