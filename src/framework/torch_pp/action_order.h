// SPDX-License-Identifier: Apache-2.0
// The order in which one rank runs the forwards and backwards of its stages: the compute actions of
// torch/distributed/pipelining/schedules.py. Waits for other ranks are left out, because they take
// no memory. What is sent follows from each action.
#pragma once

#include <cstdint>
#include <vector>

#include "framework/torch_pp/options.h"

namespace memtape::torch_pp {

enum class Work {
  forward,
  full_backward,
  input_backward,
  weight_backward,
  // These concern a stage and not a micro-batch.
  unshard,
  reshard,
  reduce_grad
};

struct Action {
  Work work = Work::forward;
  std::int64_t stage = 0, microbatch = 0;
};

/// Actions that run as one (OVERLAP_F_B). What they produce is sent when all of them are done.
using Slot = std::vector<Action>;

/// generate_rank_to_stage_mapping: stages go around the ranks, or there and back.
std::vector<std::int64_t> stages_of_rank(const Options& options, std::int64_t rank);

/// Adds the actions of _add_unshard_reshard, which keeps the next stages gathered, up to three, and
/// those of _add_reduce_grad, which come after the last backward of a stage.
std::vector<Slot> with_sharding(const std::vector<Slot>& order, std::int64_t microbatches);

/// _calculate_single_rank_operations of the schedules that have several stages on each rank.
std::vector<Slot> action_order(const Options& options, std::int64_t rank);

}  // namespace memtape::torch_pp
