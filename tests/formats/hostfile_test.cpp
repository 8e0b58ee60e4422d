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

/// -1 where nothing says it.
std::int64_t slots(std::vector<Host> hosts, const SlotChoice& choice) {
  const auto chosen = chosen_slots(std::move(hosts), choice);
  EXPECT_TRUE(chosen.has_value());
  return chosen ? chosen->value_or(-1) : 0;
}

TEST(Hostfile, filters_leave_slots) {
  const std::vector<Host> hosts{{"a", 8}, {"b", 8}};
  const SlotChoice two{.include = "a@b:0,2", .exclude = {}, .hosts = {}, .slots_of_each = {}};
  const SlotChoice without{.include = {}, .exclude = "b:0", .hosts = {}, .slots_of_each = {}};
  const SlotChoice first{.include = {}, .exclude = {}, .hosts = 1, .slots_of_each = 4};
  const SlotChoice here{
      .include = "localhost:0,1,1", .exclude = {}, .hosts = {}, .slots_of_each = {}};
  EXPECT_EQ(slots(hosts, {}), 16);
  EXPECT_EQ(slots(hosts, two), 10);
  EXPECT_EQ(slots(hosts, without), 15);
  EXPECT_EQ(slots(hosts, first), 4);
  EXPECT_EQ(slots({}, here), 2);
  EXPECT_EQ(slots({}, without), -1);
  EXPECT_EQ(slots({}, {}), -1);
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
