// SPDX-License-Identifier: Apache-2.0
// What SGLang makes of the memory that is left to its pools
// (srt/model_executor/pool_configurator.py).
#include "framework/sglang/memory_pool.h"

#include <gtest/gtest.h>

namespace memtape::sglang {
namespace {

constexpr Bytes kFree = 80_GiB, kAfterLoading = 60_GiB;

ServerArgs arguments() {
  ServerArgs args;
  args.mem_fraction_static = 0.875;
  args.context_length = 8192;
  return args;
}

/// A layer of Llama 3's: 8 heads of 128 in bfloat16.
vllm::KvLayer layer(vllm::KvKind kind) {
  return {.kind = kind, .heads = 8, .head_size = 128, .head_size_v = 128};
}

TEST(MemoryPool, CountsWhatATokenTakes) {
  const std::vector<vllm::KvLayer> layers{layer(vllm::KvKind::full),
                                          layer(vllm::KvKind::sliding_window)};
  ServerArgs args = arguments();
  EXPECT_EQ(cell_sizes(layers, args).full, 2 * 4096);
  args.hybrid_swa = true;
  EXPECT_EQ(cell_sizes(layers, args).full, 4096);
  EXPECT_EQ(cell_sizes(layers, args).sliding, 4096);
}

/// available - available_before * (1 - mem_fraction_static), in tokens.
TEST(MemoryPool, HoldsAsManyTokensAsTheShareLeaves) {
  const CellSizes cells{.full = 128_KiB};
  const PoolPlan plan = plan_pools(cells, arguments(), kFree, kAfterLoading);
  EXPECT_EQ(plan.rest, 50_GiB);
  EXPECT_EQ(plan.tokens, 50_GiB / 128_KiB);
  EXPECT_EQ(plan.kv_bytes, (plan.tokens + 1) * 128_KiB) << "slot 0 is for padding";
  EXPECT_EQ(plan.max_running_requests, 4096) << "409600 / 8192 * 512, at most 4096";
  EXPECT_EQ(plan.table_bytes, (4096 + 1) * (8192 + 4) * 4);
}

TEST(MemoryPool, HoldsWholePages) {
  ServerArgs args = arguments();
  args.page_size = 64;
  for (Bytes cell = 100'000; cell < 100'050; ++cell) {
    const PoolPlan plan = plan_pools({.full = cell}, args, kFree, kAfterLoading);
    EXPECT_EQ(plan.tokens % 64, 0) << cell;
    EXPECT_LE(plan.tokens * cell, plan.rest) << cell;
    EXPECT_GT((plan.tokens + 64) * cell, plan.rest) << cell;
  }
}

TEST(MemoryPool, IsEmptyWhereNothingIsLeft) {
  const PoolPlan plan = plan_pools({.full = 128_KiB}, arguments(), kFree, 10_GiB);
  EXPECT_LE(plan.rest, 0);
  EXPECT_EQ(plan.tokens, 0);
  EXPECT_EQ(plan.bytes(), 0);
}

TEST(MemoryPool, GivesSlidingLayersAPoolOfTheirOwn) {
  ServerArgs args = arguments();
  args.hybrid_swa = true;
  args.swa_full_tokens_ratio = 0.5;
  const CellSizes cells{.full = 64_KiB, .sliding = 128_KiB};
  const PoolPlan plan = plan_pools(cells, args, kFree, kAfterLoading);
  EXPECT_EQ(plan.tokens, 50_GiB / 128_KiB) << "64 KiB and half of 128 KiB a token";
  EXPECT_EQ(plan.swa_tokens, plan.tokens / 2);
}

/// _handle_max_mamba_cache: states have ratio / (1 + ratio) of the rest; a request needs three.
TEST(MemoryPool, GivesRecurrentLayersTheirPartFirst) {
  ServerArgs args = arguments();
  args.mamba_full_memory_ratio = 1.0;
  const CellSizes cells{.full = 128_KiB, .state = 1_GiB};
  const PoolPlan plan = plan_pools(cells, args, kFree, kAfterLoading);
  EXPECT_EQ(plan.state_slots, 24) << "half of 50 GiB, one slot for padding";
  EXPECT_EQ(plan.state_bytes, 25_GiB);
  EXPECT_EQ(plan.tokens, 25_GiB / 128_KiB);
  EXPECT_EQ(plan.max_running_requests, 24 / 3);
}

TEST(MemoryPool, TakesNoMoreTokensThanAsked) {
  ServerArgs args = arguments();
  args.max_total_tokens = 5000;
  const PoolPlan plan = plan_pools({.full = 128_KiB}, args, kFree, kAfterLoading);
  EXPECT_EQ(plan.tokens, 5000);
  EXPECT_EQ(plan.max_running_requests, 2048) << "the least there are";
}

}  // namespace
}  // namespace memtape::sglang
