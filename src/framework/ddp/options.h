// SPDX-License-Identifier: Apache-2.0
// The options of torch.nn.parallel.DistributedDataParallel that affect memory, under their names
// there (torch/nn/parallel/distributed.py), and the communication hook that is registered on it.
#pragma once

#include <optional>
#include <string_view>

#include "base/bytes.h"
#include "base/dtype.h"
#include "base/result.h"

namespace memtape {
struct TrainRecipe;
}

namespace memtape::ddp {

/// What a communication hook does to a bucket, beside reducing it.
struct CommHook {
  std::optional<DType> compresses_to = {};
  bool is_power_sgd = false;  ///< after some steps
};

struct Options {
  std::optional<double> bucket_cap_mb;  ///< not set: 25, with a first bucket of 1 MiB
  bool gradient_as_bucket_view = false;
  bool static_graph = false;
  bool find_unused_parameters = false;
  bool broadcast_buffers = true;
  bool init_sync = true;  ///< the constructor broadcasts the parameters in flat copies
  std::optional<CommHook> hook;

  Bytes bucket_bytes_cap() const {
    return static_cast<Bytes>(bucket_cap_mb.value_or(25.0) * 1024 * 1024);
  }
  /// dist._DEFAULT_FIRST_BUCKET_BYTES, if no cap was named.
  Bytes first_bucket_bytes() const { return bucket_cap_mb ? bucket_bytes_cap() : 1024 * 1024; }

  bool runs_power_sgd() const { return hook && hook->is_power_sgd; }
  /// With a static graph, the first backward shows which parameters are unused.
  bool searches_unused() const { return find_unused_parameters && !static_graph; }
};

/// Reads --strategy into the recipe's own part.
Result<void> read_strategy(std::string_view json, TrainRecipe& recipe);
/// The options that the recipe says, with what its layout decides.
Result<Options> options_of(const TrainRecipe& recipe);

/// The recipe with a note of what a communication hook does only after the first steps.
TrainRecipe resolved(TrainRecipe recipe);

}  // namespace memtape::ddp
