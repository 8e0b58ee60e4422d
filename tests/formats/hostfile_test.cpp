// SPDX-License-Identifier: Apache-2.0
#include "formats/hostfile.h"

#include <gtest/gtest.h>

namespace memtape {
namespace {

TEST(Hostfile, lines_name_hosts_and_slots) {
  const auto hosts = read_hostfile("# two\nworker-1 slots=8\n\nworker-2:4\nworker-3\n", "hosts");
  ASSERT_TRUE(hosts.has_value());
  ASSERT_EQ(hosts->size(), 3U);
  EXPECT_EQ((*hosts)[0].slots, 8);
  EXPECT_EQ((*hosts)[1].name, "worker-2");
  EXPECT_EQ((*hosts)[1].slots, 4);
  EXPECT_EQ((*hosts)[2].slots, 1);
  EXPECT_FALSE(read_hostfile("worker-1 slots=many", "hosts").has_value());
}

using Slots = std::optional<std::int64_t>;

TEST(Hostfile, filters_leave_slots) {
  const std::vector<Host> hosts{{"a", 8}, {"b", 8}};
  const SlotChoice two{.include = "a@b:0,2", .exclude = {}, .hosts = {}, .slots_of_each = {}};
  const SlotChoice without{.include = {}, .exclude = "b:0", .hosts = {}, .slots_of_each = {}};
  const SlotChoice first{.include = {}, .exclude = {}, .hosts = 1, .slots_of_each = 4};
  const SlotChoice here{
      .include = "localhost:0,1,1", .exclude = {}, .hosts = {}, .slots_of_each = {}};
  EXPECT_EQ(chosen_slots(hosts, {}), Slots(16));
  EXPECT_EQ(chosen_slots(hosts, two), Slots(10));
  EXPECT_EQ(chosen_slots(hosts, without), Slots(15));
  EXPECT_EQ(chosen_slots(hosts, first), Slots(4));
  EXPECT_EQ(chosen_slots({}, here), Slots(2));
  EXPECT_EQ(chosen_slots({}, without), Slots());
  EXPECT_EQ(chosen_slots({}, {}), Slots());
  EXPECT_EQ(listed_hosts("a:2,b").size(), 2U);
}

TEST(Hostfile, what_deepspeed_refuses_is_refused) {
  const SlotChoice range{
      .include = "localhost:0-3", .exclude = {}, .hosts = {}, .slots_of_each = {}};
  const SlotChoice both{.include = "a:0", .exclude = "a:1", .hosts = {}, .slots_of_each = {}};
  const SlotChoice counted{.include = "a:0", .exclude = {}, .hosts = {}, .slots_of_each = 2};
  for (const SlotChoice& choice : {range, both, counted})
    EXPECT_FALSE(chosen_slots({{"a", 8}}, choice).has_value());
}

}  // namespace
}  // namespace memtape
