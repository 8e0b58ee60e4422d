// SPDX-License-Identifier: Apache-2.0
// ZeroParam: a parameter of ZeRO 3 (deepspeed/runtime/zero/partition_parameters.py). It is divided
// into equal partitions, one for each rank, of which the last is padded; it is whole between a
// gather and its release. The module keeps its own TensorImpl, whose storage comes and goes.
//
// Several parameters of one dtype are gathered into one flat buffer, of which each then takes a
// copy; the buffers stay until the last of the parameters has been waited for. A single one is
// gathered in place.
//
// With hierarchical partitions (zero_hpz_partition_size of ZeRO++), the first release of a whole
// parameter leaves a second partition among the ranks of one group. The parameter is gathered from
// there until a step makes it stale.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <vector>

#include "ghost/tensor.h"

namespace memtape::deepspeed {

using ghost::Tensor;

struct GatherHandle;

struct ZeroParam {
  enum class Status { available, in_flight, not_available };

  Tensor parameter;
  std::size_t id = 0;  ///< ds_id
  std::int64_t numel = 0, partition_numel = 0;
  bool persists = false;  ///< ds_persist
  bool partition_on_host = false;
  Tensor partition;  ///< ds_tensor
  std::int64_t secondary_numel = 0;
  Tensor secondary;  ///< ds_secondary_tensor
  Status status = Status::available;
  std::set<std::size_t> active_modules;    ///< ds_active_sub_modules
  std::shared_ptr<GatherHandle> inflight;  ///< its place in the registry of parameters in flight

  bool is_available() const { return status == Status::available; }
  /// The partition on the device, which is a copy if the host holds the partition.
  Tensor partition_on_device() const;
  /// What this rank sends on the device if all_gather_coalesced gathers the parameter.
  Tensor sent() const;
  /// _partition_param_sec
  void make_secondary();
  /// param.partition(), which frees what was gathered.
  void release();
};

/// MultipleAllGatherHandles, which holds AllGatherHandles or AllGatherCoalescedHandles.
struct GatherHandle {
  struct Part {
    std::vector<ZeroParam*> params;
    Tensor flat;  ///< undefined if the parameters were gathered in place
  };
  std::vector<Part> parts;
  bool complete = false;

  void wait();
};

struct GatherOptions {
  std::int64_t world_size = 1;
  bool sequential = false;     ///< stage3_allgather_sequential
  bool by_all_reduce = false;  ///< stage3_use_all_reduce_for_fetch_params
};

/// all_gather_coalesced: all parameters are then in flight, in the order of their ids. Either all
/// have secondary partitions or none has.
std::shared_ptr<GatherHandle> all_gather_coalesced(std::vector<ZeroParam*> params,
                                                   const GatherOptions& options);

/// param.all_gather(params), which waits. Each parameter is gathered into its own memory.
void all_gather(const std::vector<ZeroParam*>& params, const GatherOptions& options);

}  // namespace memtape::deepspeed
