// SPDX-License-Identifier: Apache-2.0
#include "model/expert_load.h"

#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace memtape {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::Le;

TEST(ExpertLoad, IsBalancedUnlessSaidOtherwise) {
  EXPECT_THAT(ExpertLoad().by_expert({256, 2, 4}), ElementsAre(128, 128, 128, 128));
  EXPECT_THAT(ExpertLoad().by_expert({5, 2, 4}), ElementsAre(2, 2, 3, 3));
}

TEST(ExpertLoad, GivesTheFullestExpertSoManyTimesTheMean) {
  EXPECT_THAT(ExpertLoad{.imbalance = 1.5}.by_expert({256, 2, 4}), ElementsAre(106, 107, 107, 192));
}

TEST(ExpertLoad, SendsAllTokensToTheSameExpertsAtWorst) {
  EXPECT_THAT(ExpertLoad{.worst = true}.by_expert({256, 2, 4}), ElementsAre(0, 0, 256, 256));
}

TEST(ExpertLoad, GivesNoExpertMoreThanAllTokensAndLosesNone) {
  for (const double imbalance : {1.0, 1.01, 2.0, 7.5, 1e9})
    for (const std::int64_t experts : {2, 3, 8, 64})
      for (const std::int64_t tokens : {1, 7, 100, 4096}) {
        const auto rows = ExpertLoad{.imbalance = imbalance}.by_expert({tokens, 2, experts});
        EXPECT_THAT(rows, Each(Le(tokens)));
        EXPECT_EQ(std::accumulate(rows.begin(), rows.end(), std::int64_t{0}), 2 * tokens);
      }
}

TEST(ExpertLoad, FillsAGpuNoMoreThanItsExpertsCanTake) {
  const TokenPicks picks{.tokens = 1000, .top_k = 2, .experts = 8};
  EXPECT_EQ(ExpertLoad().of_fullest_gpu(picks, 2), 500);
  EXPECT_EQ(ExpertLoad{.imbalance = 1.5}.of_fullest_gpu(picks, 2), 750);
  EXPECT_EQ(ExpertLoad{.imbalance = 100}.of_fullest_gpu(picks, 2), 2000);
  EXPECT_EQ(ExpertLoad{.worst = true}.of_fullest_gpu(picks, 1), 1000);
  EXPECT_EQ(ExpertLoad{.worst = true}.of_fullest_gpu(picks, 8), 2000);
}

}  // namespace
}  // namespace memtape
