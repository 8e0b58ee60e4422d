// SPDX-License-Identifier: Apache-2.0
#include "time/collectives.h"

#include <gtest/gtest.h>

namespace memtape::time {
namespace {

Collectives of(std::string_view gpu) { return Collectives(*machine_of(*find_gpu(gpu))); }

TEST(Collectives, NothingToSendTakesNoTime) {
  const Collectives c = of("h100-80gb");
  EXPECT_EQ(c.seconds(Message::all_reduce, 1e6, {1, 1}), 0);
  EXPECT_EQ(c.seconds(Message::all_gather, 0, {8, 8}), 0);
}

/// nccl-tests on eight H100 reaches some 450 GB/s of bus bandwidth with a large all-reduce.
TEST(Collectives, LargeMessagesInsideANodeReachTheMeasuredBandwidth) {
  const double bytes = 1 << 30;
  const double t = of("h100-80gb").seconds(Message::all_reduce, bytes, {8, 8});
  const double bus = 2 * 7.0 / 8 * bytes / t / 1e9;
  EXPECT_GT(bus, 400);
  EXPECT_LT(bus, 480);
}

TEST(Collectives, TimeGrowsWithBytes) {
  for (const char* gpu : {"a100-80gb", "h100-80gb", "gb200", "l40s", "rtx-4090"})
    for (const Message message :
         {Message::all_reduce, Message::all_gather, Message::reduce_scatter, Message::all_to_all})
      for (const Group group : {Group{8, 8}, Group{64, 8}, Group{16, 1}}) {
        double before = 0;
        for (double bytes = 1e5; bytes < 1e10; bytes *= 10) {
          const double t = of(gpu).seconds(message, bytes, group);
          EXPECT_GE(t, before * 0.8) << gpu << " " << bytes;
          before = t;
        }
      }
}

TEST(Collectives, TheNetworkIsSlowerThanTheNode) {
  const Collectives c = of("h100-80gb");
  EXPECT_GT(c.seconds(Message::all_gather, 1e9, {16, 1}),
            c.seconds(Message::all_gather, 1e9, {8, 8}));
  // One rank a node has one network card, eight have eight.
  EXPECT_GT(c.seconds(Message::all_gather, 1e9, {64, 1}),
            4 * c.seconds(Message::all_gather, 1e9, {64, 8}));
}

TEST(Group, RanksApartShareFewerNodes) {
  EXPECT_EQ(Group::strided(16, 1, 8).near, 8);
  EXPECT_EQ(Group::strided(16, 4, 8).near, 2);
  EXPECT_EQ(Group::strided(16, 8, 8).near, 1);
  EXPECT_EQ(Group::strided(4, 1, 72).near, 4);
}

}  // namespace
}  // namespace memtape::time
