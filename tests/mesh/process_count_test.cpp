// SPDX-License-Identifier: Apache-2.0
#include "mesh/process_count.h"

#include <map>

#include <gtest/gtest.h>

namespace memtape {
namespace {

ProcessCount::Said said(std::map<std::string, std::string> values) {
  return [values = std::move(values)](std::string_view name) -> std::optional<std::string> {
    const auto found = values.find(std::string(name));
    return found == values.end() ? std::nullopt : std::optional(found->second);
  };
}

TEST(ProcessCount, counts_in_the_forms_of_launchers) {
  ProcessCount count;
  const auto noted =
      count.note(said({{"nodes", "1:4"}, {"per-node", "gpu"}, {"gres", "gpu:a100:8"}}),
                 {{"nodes", &ProcessCount::nodes},
                  {"per-node", &ProcessCount::on_node},
                  {"gres", &ProcessCount::granted}});
  ASSERT_TRUE(noted.has_value());
  EXPECT_EQ(count.total(said({})), 32);
  EXPECT_EQ(count.total(said({{"CUDA_VISIBLE_DEVICES", "0,1,-1,2"}})), 8);
  EXPECT_EQ(count.total(said({{"CUDA_VISIBLE_DEVICES", ""}})), std::nullopt);
  count.start_afresh();
  EXPECT_EQ(count.total(said({})), std::nullopt);
  EXPECT_FALSE(count.note(said({{"n", "0"}}), {{"n", &ProcessCount::on_all}}).has_value());
}

}  // namespace
}  // namespace memtape
