// SPDX-License-Identifier: Apache-2.0
#include "base/bytes.h"

#include <gtest/gtest.h>

namespace memtape {
namespace {

using namespace literals;

TEST(Bytes, UnitsArePowersOfTwo) {
  EXPECT_EQ(3_KiB, 3072);
  EXPECT_EQ(1_MiB, 1024_KiB);
  EXPECT_EQ(80_GiB, 85'899'345'920);
}

TEST(Bytes, RoundUpKeepsMultiplesAndReachesTheNext) {
  EXPECT_EQ(round_up(0, 512), 0);
  EXPECT_EQ(round_up(1, 512), 512);
  EXPECT_EQ(round_up(512, 512), 512);
  EXPECT_EQ(round_up(513, 512), 1024);
}

TEST(Bytes, CeilDivCountsTheLastIncompletePart) {
  EXPECT_EQ(ceil_div(0, 7), 0);
  EXPECT_EQ(ceil_div(7, 7), 1);
  EXPECT_EQ(ceil_div(8, 7), 2);
}

}  // namespace
}  // namespace memtape
