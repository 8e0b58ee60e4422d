// SPDX-License-Identifier: Apache-2.0
// What must hold of every schedule for all numbers of ranks and micro-batches: each stage runs each
// micro-batch forward once and backward once, whole or in its two parts, in that order; and the
// ranks' orders fit together, so that none waits for ever.
#include "framework/torch_pp/action_order.h"

#include <map>
#include <set>

#include <gtest/gtest.h>

namespace memtape::torch_pp {
namespace {

struct Case {
  ScheduleKind schedule;
  std::int64_t stages_per_rank;
};

class ActionOrderTest : public testing::TestWithParam<Case> {
 protected:
  Options options(std::int64_t ranks, std::int64_t microbatches) const {
    Options o;
    o.schedule = GetParam().schedule;
    o.ranks = ranks;
    o.stages_per_rank = GetParam().stages_per_rank;
    o.microbatches = microbatches;
    return o;
  }

  /// What the schedule's constructor would refuse.
  bool runs(const Options& o) const {
    if (o.schedule == ScheduleKind::dual_pipe_v) return o.microbatches >= o.stages();
    if (o.schedule == ScheduleKind::interleaved ||
        o.schedule == ScheduleKind::interleaved_zero_bubble)
      return o.microbatches % std::max<std::int64_t>(1, o.microbatches / o.ranks) == 0;
    return true;
  }
};

using Done = std::map<std::pair<std::int64_t, std::int64_t>, std::multiset<Work>>;

void check_order(const Options& o, const std::vector<Slot>& order, std::int64_t rank) {
  Done done;
  for (const Slot& slot : order)
    for (const Action& action : slot) {
      std::multiset<Work>& before = done[{action.stage, action.microbatch}];
      EXPECT_EQ(before.count(action.work), 0U);
      if (action.work != Work::forward) {
        EXPECT_EQ(before.count(Work::forward), 1U);
      }
      if (action.work == Work::weight_backward) {
        EXPECT_EQ(before.count(Work::input_backward), 1U);
      }
      before.insert(action.work);
    }
  const std::vector<std::int64_t> stages = stages_of_rank(o, rank);
  EXPECT_EQ(done.size(), stages.size() * static_cast<std::size_t>(o.microbatches));
  for (const auto& [where, work] : done) {
    const bool whole = work == std::multiset<Work>{Work::forward, Work::full_backward};
    const bool parts =
        work == std::multiset<Work>{Work::forward, Work::input_backward, Work::weight_backward};
    EXPECT_TRUE(whole || parts) << "stage " << where.first << " micro-batch " << where.second;
  }
}

/// Runs all ranks side by side, each action once what it needs has arrived.
bool finishes(const Options& o) {
  std::vector<std::vector<Slot>> orders;
  for (std::int64_t rank = 0; rank < o.ranks; ++rank) orders.push_back(action_order(o, rank));
  std::vector<std::size_t> at(orders.size(), 0);
  std::set<std::pair<std::int64_t, std::int64_t>> forwards, backwards;
  const auto ready = [&](const Action& a) {
    if (a.work == Work::forward)
      return a.stage == 0 || forwards.contains({a.stage - 1, a.microbatch});
    if (a.work == Work::weight_backward || a.stage + 1 == o.stages()) return true;
    return backwards.contains({a.stage + 1, a.microbatch});
  };
  for (bool progress = true; progress;) {
    progress = false;
    for (std::size_t rank = 0; rank < orders.size(); ++rank) {
      if (at[rank] == orders[rank].size()) continue;
      const Slot& slot = orders[rank][at[rank]];
      bool all_ready = true;
      for (const Action& action : slot) all_ready = all_ready && ready(action);
      if (!all_ready) continue;
      for (const Action& action : slot)
        (action.work == Work::forward ? forwards : backwards)
            .insert({action.stage, action.microbatch});
      ++at[rank];
      progress = true;
    }
  }
  for (std::size_t rank = 0; rank < orders.size(); ++rank)
    if (at[rank] != orders[rank].size()) return false;
  return true;
}

TEST_P(ActionOrderTest, EachMicroBatchGoesForthAndBackOnce) {
  for (const std::int64_t ranks : {1, 2, 3, 4, 8})
    for (const std::int64_t microbatches : {1, 2, 3, 4, 6, 8, 16, 17}) {
      const Options o = options(ranks, microbatches);
      if (!runs(o)) continue;
      for (std::int64_t rank = 0; rank < ranks; ++rank) check_order(o, action_order(o, rank), rank);
    }
}

TEST_P(ActionOrderTest, NoRankWaitsForEver) {
  for (const std::int64_t ranks : {1, 2, 3, 4, 8})
    for (const std::int64_t microbatches : {2, 4, 8, 16, 17}) {
      const Options o = options(ranks, microbatches);
      if (runs(o)) {
        EXPECT_TRUE(finishes(o)) << ranks << " ranks, " << microbatches << " micro-batches";
      }
    }
}

/// Shards are whole where a stage computes, of three stages at most, and each stage's gradients are
/// reduced once, when none of its backwards is to come.
void check_sharding(const Options& o, std::int64_t rank) {
  std::set<std::int64_t> whole, reduced;
  std::map<std::int64_t, std::int64_t> backwards;
  for (const Slot& slot : with_sharding(action_order(o, rank), o.microbatches))
    for (const Action& action : slot) {
      if (action.work == Work::unshard) {
        EXPECT_TRUE(whole.insert(action.stage).second);
        EXPECT_LE(whole.size(), 3U);
      } else if (action.work == Work::reshard) {
        EXPECT_EQ(whole.erase(action.stage), 1U);
      } else if (action.work == Work::reduce_grad) {
        EXPECT_EQ(backwards[action.stage], o.microbatches);
        EXPECT_TRUE(reduced.insert(action.stage).second);
      } else {
        EXPECT_TRUE(whole.contains(action.stage));
        if (action.work == Work::full_backward || action.work == Work::weight_backward)
          ++backwards[action.stage];
      }
    }
  EXPECT_TRUE(whole.empty());
  EXPECT_EQ(reduced.size(), stages_of_rank(o, rank).size());
}

TEST_P(ActionOrderTest, StagesAreWholeWhereTheyComputeAndReducedOnce) {
  for (const std::int64_t ranks : {1, 2, 4})
    for (const std::int64_t microbatches : {4, 8, 16}) {
      const Options o = options(ranks, microbatches);
      if (!runs(o)) continue;
      for (std::int64_t rank = 0; rank < ranks; ++rank) check_sharding(o, rank);
    }
}

INSTANTIATE_TEST_SUITE_P(Schedules, ActionOrderTest,
                         testing::Values(Case{ScheduleKind::interleaved, 2},
                                         Case{ScheduleKind::interleaved, 3},
                                         Case{ScheduleKind::looped_bfs, 2},
                                         Case{ScheduleKind::interleaved_zero_bubble, 2},
                                         Case{ScheduleKind::interleaved_zero_bubble, 4},
                                         Case{ScheduleKind::zbv_zero_bubble, 2},
                                         Case{ScheduleKind::dual_pipe_v, 2}));

}  // namespace
}  // namespace memtape::torch_pp
