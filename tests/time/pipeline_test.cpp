// SPDX-License-Identifier: Apache-2.0
// Schedules that are run, held to the closed formulas of their bubbles.
#include "time/pipeline.h"

#include <gtest/gtest.h>

namespace memtape::time {
namespace {

Pipeline even(PipelineSchedule schedule, std::int64_t ranks, std::int64_t chunks,
              std::int64_t micro_batches, ChunkTime each) {
  Pipeline p{.schedule = schedule,
             .ranks = ranks,
             .chunks_per_rank = chunks,
             .micro_batches = micro_batches,
             .chunks = {}};
  p.chunks.assign(static_cast<std::size_t>(ranks * chunks), each);
  return p;
}

double bubble(const Pipeline& p) {
  const PipelineTime t = run_pipeline(p);
  return t.seconds - t.busy;
}

TEST(Pipeline, OneRankHasNoBubble) {
  for (const std::int64_t micro_batches : {1, 7, 100})
    EXPECT_NEAR(bubble(even(PipelineSchedule::one_f_one_b, 1, 1, micro_batches, {1, 2, 0})), 0,
                1e-9);
}

TEST(Pipeline, OneForwardOneBackwardIdlesForTheOtherRanks) {
  for (const std::int64_t ranks : {2, 4, 8})
    for (const std::int64_t micro_batches : {8, 16, 64, 1000})
      EXPECT_NEAR(bubble(even(PipelineSchedule::one_f_one_b, ranks, 1, micro_batches, {1, 2, 0})),
                  static_cast<double>(ranks - 1) * 3, 1e-6)
          << ranks << " ranks, " << micro_batches;
}

TEST(Pipeline, InterleavingDividesTheBubbleByTheChunks) {
  for (const std::int64_t ranks : {2, 4, 8})
    for (const std::int64_t chunks : {2, 4})
      EXPECT_NEAR(bubble(even(PipelineSchedule::one_f_one_b, ranks, chunks, 8 * ranks, {1, 2, 0})),
                  static_cast<double>(ranks - 1) * 3, 1e-6)  // of a chunk, which is 1/v of a rank
          << ranks << " ranks, " << chunks << " chunks";
}

TEST(Pipeline, GpipeIdlesAsLongAsOneForwardOneBackward) {
  EXPECT_NEAR(bubble(even(PipelineSchedule::gpipe, 4, 1, 8, {1, 2, 0})), 9, 1e-9);
}

TEST(Pipeline, ZeroBubbleFillsWithWeights) {
  // (p - 1)(F + B - 2W), B being the backward of both.
  for (const std::int64_t ranks : {2, 4, 8})
    EXPECT_NEAR(bubble(even(PipelineSchedule::zero_bubble, ranks, 1, 32, {1, 1, 1})),
                static_cast<double>(ranks - 1) * (1 + 2 - 2), 1e-6)
        << ranks;
}

TEST(Pipeline, VShapesIdleLessThanZeroBubble) {
  for (const std::int64_t ranks : {2, 4}) {
    const double plain = bubble(even(PipelineSchedule::zero_bubble, ranks, 1, 16, {2, 2, 2}));
    const double v = bubble(even(PipelineSchedule::zbv, ranks, 2, 16, {1, 1, 1}));
    EXPECT_LE(v, plain + 1e-9);
    EXPECT_GE(v, -1e-9);
  }
}

TEST(Pipeline, ManyMicroBatchesCostWhatRunningAllOfThemCosts) {
  for (const std::int64_t micro_batches : {21, 30, 64}) {
    Pipeline p = even(PipelineSchedule::one_f_one_b, 4, 2, micro_batches, {1, 2, 0});
    p.chunks.back() = {1.5, 3, 0};
    EXPECT_NEAR(run_pipeline(p).seconds, run_pipeline(p, true).seconds, 1e-6) << micro_batches;
  }
}

TEST(Pipeline, TheSlowestRankSetsThePace) {
  Pipeline p = even(PipelineSchedule::one_f_one_b, 4, 1, 64, {1, 2, 0});
  p.chunks[2] = {2, 4, 0};
  const PipelineTime t = run_pipeline(p);
  EXPECT_EQ(t.slowest, 2);
  EXPECT_GE(t.seconds, 64 * 6);
  EXPECT_LE(t.seconds, 64 * 6 + 3 * 6);
}

TEST(Pipeline, SendsNeverShortenAStep) {
  Pipeline p = even(PipelineSchedule::one_f_one_b, 4, 2, 16, {1, 2, 0});
  double before = run_pipeline(p).seconds;
  for (const double send : {0.01, 0.1, 0.5}) {
    p.send = send;
    const double now = run_pipeline(p).seconds;
    EXPECT_GE(now, before);
    before = now;
  }
}

TEST(Pipeline, EveryActionOfATimelineFollowsItsInput) {
  const Pipeline p = even(PipelineSchedule::one_f_one_b, 4, 2, 8, {1, 2, 0});
  const PipelineTime t = run_pipeline(p, true);
  EXPECT_EQ(t.slots.size(), 4U * 2 * 8 * 2);
  std::vector<double> free(4, 0);
  for (const PipelineSlot& slot : t.slots) {
    EXPECT_GE(slot.start, free[static_cast<std::size_t>(slot.stage)] - 1e-9);
    free[static_cast<std::size_t>(slot.stage)] = slot.end;
  }
}

}  // namespace
}  // namespace memtape::time
