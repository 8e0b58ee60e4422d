// SPDX-License-Identifier: Apache-2.0
// Buffers: what the shards of all ranks hold together is every parameter, once.
#include "framework/megatron/param_and_grad_buffer.h"

#include <gmock/gmock.h>

namespace memtape::megatron {
namespace {

std::vector<Parameter> parameters_of(const std::vector<std::int64_t>& sizes) {
  std::vector<Parameter> parameters;
  for (const std::int64_t size : sizes)
    parameters.push_back({.tensor = ghost::empty({size}, DType::bfloat16)});
  return parameters;
}

std::int64_t held_by_all(const BufferLayout& layout, std::int64_t ranks) {
  std::int64_t total = 0;
  for (std::int64_t rank = 0; rank < ranks; ++rank)
    for (const Range& range : shards(layout, ranks, rank)) total += range.to - range.from;
  return total;
}

TEST(Buffer, shards_sum_to_the_parameters) {
  const ghost::Session session{ghost::DeviceTraits{}};
  const std::vector<Parameter> parameters = parameters_of({1000, 7, 64, 128 * 1024 + 1, 3});
  for (const std::int64_t ranks : {1, 2, 3, 8, 24}) {
    const BufferLayout layout =
        lay_out(parameters, {.ranks = ranks, .bucket_size = 1000, .distributed_optimizer = true});
    EXPECT_EQ(held_by_all(layout, ranks), 1000 + 7 + 64 + 128 * 1024 + 1 + 3) << ranks;
  }
}

TEST(Buffer, parameters_lie_in_reverse_order_on_boundaries_of_64) {
  const ghost::Session session{ghost::DeviceTraits{}};
  const BufferLayout layout =
      lay_out(parameters_of({100, 10}), {.ranks = 2, .distributed_optimizer = true});
  EXPECT_EQ(layout.parameters[1].from, 0);
  EXPECT_EQ(layout.parameters[0].from, 64);
  EXPECT_EQ(layout.elements, 256);  // 164, up to lcm(2, 128)
}

TEST(Buffer, without_the_distributed_optimizer_nothing_is_padded) {
  const ghost::Session session{ghost::DeviceTraits{}};
  const BufferLayout layout = lay_out(parameters_of({100, 10}), {.ranks = 2});
  EXPECT_EQ(layout.elements, 110);
}

TEST(Buffer, buckets_close_when_they_are_full) {
  const ghost::Session session{ghost::DeviceTraits{}};
  const BufferLayout layout = lay_out(parameters_of({100, 100, 100}), {.bucket_size = 150});
  ASSERT_EQ(layout.buckets.size(), 2U);
  EXPECT_EQ(layout.buckets[0].to, 200);
  EXPECT_EQ(layout.buckets[1].to, 300);
}

}  // namespace
}  // namespace memtape::megatron
