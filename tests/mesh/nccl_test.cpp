// SPDX-License-Identifier: Apache-2.0
#include "mesh/nccl.h"

#include <gtest/gtest.h>

namespace memtape {
namespace {

TEST(Nccl, TakesNothingForOneRank) {
  const MemoryRange alone = nccl_memory({"dp", 1, Traffic::collective}, 9);
  EXPECT_EQ(alone.low, 0);
  EXPECT_EQ(alone.high, 0);
}

/// NCCL issue 964: 544 MiB for two of four A100, 688 MiB for more; issue 1685: 12 MiB a peer and
/// channel of an all-to-all over eight H100.
TEST(Nccl, RangesHoldWhatOthersMeasured) {
  const MemoryRange pair = nccl_memory({"tp", 2, Traffic::collective}, 8);
  EXPECT_LE(pair.low, 544_MiB);
  EXPECT_GE(pair.high, 544_MiB);
  const MemoryRange four = nccl_memory({"dp", 4, Traffic::collective}, 8);
  EXPECT_LE(four.low, 688_MiB);
  EXPECT_GE(four.high, 688_MiB);
  EXPECT_EQ(nccl_memory({"ep", 8, Traffic::all_to_all}, 9).high, 7 * 32 * 12_MiB);
}

TEST(Nccl, AddsNvlsFromHopperOn) {
  const Communicator eight{"dp", 8, Traffic::collective};
  EXPECT_EQ(nccl_memory(eight, 9).high - nccl_memory(eight, 8).high, 256_MiB);
}

}  // namespace
}  // namespace memtape
