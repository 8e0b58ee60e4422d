// SPDX-License-Identifier: Apache-2.0
// What one candidate that does not fit says of others.
#include "plan/candidate.h"

#include <gtest/gtest.h>

namespace memtape::plan {
namespace {

Candidate with(std::int64_t micro_batch, std::int64_t micro_batches) {
  Candidate c;
  c.sizes.micro_batch = micro_batch;
  c.sizes.micro_batches = micro_batches;
  return c;
}

TEST(NeedsNoLess, HoldsForLargerMicroBatchesOfWhichThereAreSeveral) {
  EXPECT_TRUE(needs_no_less(with(2, 4), with(1, 8)));
  EXPECT_FALSE(needs_no_less(with(1, 8), with(2, 4)));
}

/// Whole gradients that wait for the last of several micro-batches are not there where it is one.
TEST(NeedsNoLess, DoesNotHoldForTheOneMicroBatchOfAStep) {
  EXPECT_FALSE(needs_no_less(with(8, 1), with(1, 8)));
  EXPECT_TRUE(needs_no_less(with(8, 1), with(4, 1)));
}

/// Some modules made again need buffers that are not there where none is.
TEST(NeedsNoLess, HoldsBesideWholeLayersMadeAgainAlone) {
  Candidate none = with(1, 1), some = none, all = none;
  some.checkpointing = Checkpointing::selective;
  all.checkpointing = Checkpointing::full;
  EXPECT_TRUE(needs_no_less(none, all));
  EXPECT_TRUE(needs_no_less(some, all));
  EXPECT_FALSE(needs_no_less(none, some));
  EXPECT_FALSE(needs_no_less(all, none));
}

/// Of layers of which the first are made again, more hold less.
TEST(NeedsNoLess, HoldsBesideMoreLayersMadeAgain) {
  Candidate none = with(1, 1), all = none;
  all.checkpointing = Checkpointing::full;
  Candidate two = all, three = all;
  two.layers_again = 2;
  three.layers_again = 3;
  EXPECT_TRUE(needs_no_less(two, three));
  EXPECT_FALSE(needs_no_less(three, two));
  EXPECT_TRUE(needs_no_less(none, two));
  EXPECT_FALSE(needs_no_less(two, none));
  EXPECT_TRUE(needs_no_less(two, all));
  EXPECT_FALSE(needs_no_less(all, two));
}

/// Interleaved stages start chunks of a second round before their first backward.
TEST(NeedsNoLess, CountsTwoRoundsOfInterleavedStages) {
  Candidate one_round = with(1, 4), two_rounds = with(1, 8);
  one_round.sizes.pp = two_rounds.sizes.pp = 4;
  EXPECT_TRUE(needs_no_less(one_round, two_rounds));
  one_round.sizes.vpp = two_rounds.sizes.vpp = 2;
  EXPECT_FALSE(needs_no_less(one_round, two_rounds));
}

TEST(TellingMicroBatches, AreWholeRoundsOfThePipelineOfWhichThereAreTwiceAsMany) {
  EXPECT_EQ(telling_micro_batches(with(1, 15).sizes), std::nullopt);
  EXPECT_EQ(telling_micro_batches(with(1, 16).sizes), 8);
  Candidate staged = with(1, 120);
  staged.sizes.pp = 4;
  EXPECT_EQ(telling_micro_batches(staged.sizes), 12);
  staged.sizes.pp = 32;
  EXPECT_EQ(telling_micro_batches(staged.sizes), std::nullopt);
}

}  // namespace
}  // namespace memtape::plan
