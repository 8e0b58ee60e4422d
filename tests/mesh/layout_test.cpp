// SPDX-License-Identifier: Apache-2.0
#include "mesh/layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mesh/shards.h"

namespace memtape {
namespace {

using testing::ElementsAre;

TEST(Layout, CountsTheLastAxisFastest) {
  const Layout layout({{"dp", 2}, {"pp", 3}, {"tp", 4}});
  EXPECT_EQ(layout.size(), 24);
  EXPECT_EQ(layout.coordinate(6, "tp"), 2);
  EXPECT_EQ(layout.coordinate(6, "pp"), 1);
  EXPECT_EQ(layout.coordinate(23, "dp"), 1);
  EXPECT_THAT(layout.group(6, "tp"), ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(layout.group(6, "pp"), ElementsAre(2, 6, 10));
  EXPECT_THAT(layout.group(6, "dp"), ElementsAre(6, 18));
}

TEST(Layout, HasOneOfEveryOtherAxis) {
  const Layout layout({{"dp", 2}});
  EXPECT_EQ(layout.size("cp"), 1);
  EXPECT_EQ(layout.coordinate(1, "cp"), 0);
  EXPECT_THAT(layout.group(1, "cp"), ElementsAre(1));
}

TEST(Layout, PutsEveryRankIntoOneGroupOfAnAxis) {
  const Layout layout({{"dp", 2}, {"pp", 3}, {"tp", 4}});
  for (const char* axis : {"dp", "pp", "tp"})
    for (std::int64_t rank = 0; rank < layout.size(); ++rank)
      for (const std::int64_t other : layout.group(rank, axis))
        EXPECT_EQ(layout.group(other, axis), layout.group(rank, axis)) << axis << " " << rank;
}

TEST(Shards, SumToTheWhole) {
  for (std::int64_t rows = 1; rows <= 40; ++rows)
    for (std::int64_t holders = 1; holders <= 12; ++holders) {
      std::int64_t sum = 0;
      for (std::int64_t holder = 0; holder < holders; ++holder) {
        const std::int64_t piece = shard(rows, holders, holder);
        EXPECT_LE(piece, padded_shard(rows, holders));
        sum += piece;
      }
      EXPECT_EQ(sum, rows) << rows << " rows, " << holders << " holders";
    }
}

TEST(Shards, LeaveTheLastHoldersShortOrEmpty) {
  EXPECT_EQ(shard(10, 4, 2), 3);
  EXPECT_EQ(shard(10, 4, 3), 1);
  EXPECT_EQ(shard(5, 4, 3), 0);
}

}  // namespace
}  // namespace memtape
