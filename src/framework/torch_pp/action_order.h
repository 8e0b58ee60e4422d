// SPDX-License-Identifier: Apache-2.0
// In which order one rank runs the forwards and backwards of its stages: the compute actions of
// torch/distributed/pipelining/schedules.py. Waits for other ranks are left out, as they take no
// memory; what is sent follows from each action.
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
  // of a stage, not of a micro-batch
  unshard,
  reshard,
  reduce_grad
};

struct Action {
  Work work = Work::forward;
  std::int64_t stage = 0, microbatch = 0;
};

/// Actions that run as one (OVERLAP_F_B): what they produce is sent when all of them are done.
using Slot = std::vector<Action>;

/// generate_rank_to_stage_mapping: stages go round the ranks, or there and back.
std::vector<std::int64_t> stages_of_rank(const Options& options, std::int64_t rank);

/// _add_unshard_reshard, which keeps up to three stages gathered, those that come next, and
/// _add_reduce_grad: after a stage's last backward.
std::vector<Slot> with_sharding(const std::vector<Slot>& order, std::int64_t microbatches);

/// _calculate_single_rank_operations of the schedules of several stages a rank.
std::vector<Slot> action_order(const Options& options, std::int64_t rank);

}  // namespace memtape::torch_pp
