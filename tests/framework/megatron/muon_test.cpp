// SPDX-License-Identifier: Apache-2.0
// Muon's layer-wise sharding: whole parameters, each dealt to one rank.
#include "framework/megatron/muon.h"

#include <gmock/gmock.h>

namespace memtape::megatron {
namespace {

ParamAndGradBuffer buffer_of(const std::vector<std::int64_t>& sizes, std::int64_t ranks) {
  ParamAndGradBuffer buffer;
  for (const std::int64_t size : sizes)
    buffer.parameters.push_back({.tensor = ghost::empty({size}, DType::bfloat16)});
  buffer.options.ranks = ranks;
  return buffer;
}

std::vector<std::vector<std::size_t>> dealt(const ParamAndGradBuffer& buffer) {
  std::vector<Dealt> all;
  for (std::size_t i = 0; i < buffer.parameters.size(); ++i) all.push_back({&buffer, i});
  std::vector<std::vector<std::size_t>> by_rank;
  for (std::int64_t rank = 0; rank < buffer.options.ranks; ++rank) {
    by_rank.emplace_back();
    for (const Dealt& one : dealt_to(all, {rank, 0})) by_rank.back().push_back(one.index);
  }
  return by_rank;
}

TEST(Muon, deals_there_and_back) {
  const ghost::Session session{ghost::DeviceTraits{}};
  const ParamAndGradBuffer buffer = buffer_of({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 4);
  using testing::ElementsAre;
  EXPECT_THAT(dealt(buffer), ElementsAre(ElementsAre(0, 7, 8), ElementsAre(1, 6, 9),
                                         ElementsAre(2, 5), ElementsAre(3, 4)));
}

TEST(Muon, sorts_by_size_and_keeps_the_order_of_equals) {
  const ghost::Session session{ghost::DeviceTraits{}};
  const ParamAndGradBuffer buffer = buffer_of({100, 5, 100, 5}, 2);
  using testing::ElementsAre;
  EXPECT_THAT(dealt(buffer), ElementsAre(ElementsAre(1, 2), ElementsAre(0, 3)));
}

TEST(Muon, every_parameter_is_one_ranks) {
  const ghost::Session session{ghost::DeviceTraits{}};
  for (const std::int64_t ranks : {1, 2, 3, 7, 16}) {
    const ParamAndGradBuffer buffer = buffer_of({3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5}, ranks);
    std::vector<int> seen(buffer.parameters.size());
    for (const std::vector<std::size_t>& held : dealt(buffer))
      for (const std::size_t i : held) ++seen[i];
    EXPECT_THAT(seen, testing::Each(1)) << ranks;
  }
}

}  // namespace
}  // namespace memtape::megatron
