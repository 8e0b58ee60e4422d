// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>

#include "framework/torch_pp/action_order.h"

namespace memtape::torch_pp {
namespace {

constexpr std::size_t kMaxActiveStages = 3;

/// next_stage_indices: the next stages that compute, each once.
std::vector<std::int64_t> next_stages(const std::vector<Slot>& order, std::size_t from) {
  std::vector<std::int64_t> next;
  for (std::size_t i = from; i < order.size(); ++i) {
    for (const Action& action : order[i])
      if (std::find(next.begin(), next.end(), action.stage) == next.end())
        next.push_back(action.stage);
    if (next.size() >= kMaxActiveStages) break;
  }
  return next;
}

bool ends_backward(Work work) {
  return work == Work::full_backward || work == Work::weight_backward;
}

}  // namespace

std::vector<Slot> with_sharding(const std::vector<Slot>& order, std::int64_t microbatches) {
  std::vector<Slot> lowered;
  std::set<std::int64_t> active;
  std::map<std::int64_t, std::int64_t> backwards;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::vector<std::int64_t> next = next_stages(order, i);
    const std::set<std::int64_t> before = active;
    for (const std::int64_t stage : before)
      if (std::find(next.begin(), next.end(), stage) == next.end()) {
        active.erase(stage);
        lowered.push_back({{Work::reshard, stage, 0}});
      }
    for (const std::int64_t stage : next)
      if (!before.contains(stage)) {
        active.insert(stage);
        lowered.push_back({{Work::unshard, stage, 0}});
      }
    lowered.push_back(order[i]);
    for (const Action& action : order[i])
      if (ends_backward(action.work) && ++backwards[action.stage] == microbatches)
        lowered.push_back({{Work::reduce_grad, action.stage, 0}});
  }
  for (const std::int64_t stage : active) lowered.push_back({{Work::reshard, stage, 0}});
  return lowered;
}

}  // namespace memtape::torch_pp
