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

TEST(Hostfile, filters_leave_slots) {
  const std::vector<Host> hosts{{"a", 8}, {"b", 8}};
  EXPECT_EQ(chosen_slots(hosts, {}), 16);
  EXPECT_EQ(
      chosen_slots(hosts, {.include = "a@b:0,2", .exclude = {}, .hosts = {}, .slots_of_each = {}}),
      10);
  EXPECT_EQ(
      chosen_slots(hosts, {.include = {}, .exclude = "b:0", .hosts = {}, .slots_of_each = {}}), 15);
  EXPECT_EQ(chosen_slots(hosts, {.include = {}, .exclude = {}, .hosts = 1, .slots_of_each = 4}), 4);
  EXPECT_EQ(chosen_slots(
                {}, {.include = "localhost:0,1", .exclude = {}, .hosts = {}, .slots_of_each = {}}),
            2);
  EXPECT_EQ(chosen_slots({}, {}), std::nullopt);
  EXPECT_EQ(listed_hosts("a:2,b").size(), 2U);
}

}  // namespace
}  // namespace memtape
