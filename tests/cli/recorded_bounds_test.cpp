// SPDX-License-Identifier: Apache-2.0
#include "recorded_bounds.h"

#include <gtest/gtest.h>

namespace memtape::cli {
namespace {

LibraryChoices choices_of(std::string_view tape) {
  const auto events = parse_step_tape(tape, "tape");
  EXPECT_TRUE(events);
  return events ? library_choices(*events) : LibraryChoices{};
}

TEST(RecordedBounds, AStepWithoutTheirKernelsLeavesLibrariesNothingToDecide) {
  const LibraryChoices choices = choices_of("+ 1 512 - mm -\n+ 2 1024 - mm MmBackward0\n- 1\n");
  EXPECT_EQ(choices.flash_scratch, 0);
  EXPECT_FALSE(choices.convolution_excess);
}

TEST(RecordedBounds, ScratchIsTheLargestBlockOfFlashAttentionsBackward) {
  constexpr std::string_view kNode = "ScaledDotProductFlashAttentionBackward0";
  const std::string tape = "+ 1 4096 - empty_strided " + std::string(kNode) +
                           "\n+ 2 512 - empty_strided " + std::string(kNode) + "\n";
  EXPECT_EQ(choices_of(tape).flash_scratch, 4096);
}

TEST(RecordedBounds, AConvolutionsWorkspaceCountsWhereItWouldRiseAboveThePeak) {
  // The peak is 1000 + 600; at the convolution 1000 + 400 and a workspace of 400 are alive.
  EXPECT_EQ(choices_of("+ 1 1000 - mm -\n+ 2 600 - mm -\n- 2\n"
                       "+ 3 400 - empty ConvolutionBackward0\n")
                .convolution_excess,
            200);
}

Prediction recorded(Bytes allocated, Bytes reserved, Bytes total) {
  Prediction prediction;
  prediction.device = DeviceSummary{};
  prediction.device->total_bytes = total;
  RankReport rank;
  rank.peak.allocated = allocated;
  rank.peak.reserved = rank.peak_device_bytes = reserved;
  prediction.ranks.push_back(rank);
  prediction.bounds = {reserved - 10, reserved + 10, {}};
  judge_recorded(prediction);
  return prediction;
}

TEST(RecordedBounds, DecideTheVerdictNearTheLimit) {
  EXPECT_EQ(recorded(80, 80, 100).verdict, VerdictWord::fits);
  EXPECT_EQ(recorded(95, 95, 100).verdict, VerdictWord::may_not_fit);
  EXPECT_EQ(recorded(105, 105, 100).verdict, VerdictWord::may_not_fit);
  EXPECT_EQ(recorded(120, 120, 100).verdict, VerdictWord::does_not_fit);
}

TEST(RecordedBounds, WhatIsCachedMayGoBack) {
  const Prediction prediction = recorded(90, 120, 100);
  EXPECT_EQ(prediction.verdict, VerdictWord::may_not_fit);
  EXPECT_EQ(prediction.bounds.low_bytes, 100);
  EXPECT_EQ(prediction.bounds.causes.size(), 1U);
}

}  // namespace
}  // namespace memtape::cli
