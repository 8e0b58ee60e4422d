// SPDX-License-Identifier: Apache-2.0
#include "allocator/caching_allocator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace memtape {
namespace {

using ::testing::ElementsAre;

class CachingAllocatorTest : public ::testing::Test {
 protected:
  /// Sizes of all blocks, segment by segment, free ones negative.
  static std::vector<Bytes> layout(const CachingAllocator& allocator) {
    std::vector<Bytes> sizes;
    for (const SegmentView& segment : allocator.segments())
      for (const Block* block : segment.blocks)
        sizes.push_back(block->allocated ? block->size : -block->size);
    return sizes;
  }

  std::unique_ptr<Driver> driver_ = make_driver(DriverPlacement::first_fit);
  CachingAllocator allocator_{*driver_};
};

// The worked example of discuss.pytorch.org topic 178671.
TEST_F(CachingAllocatorTest, RoundsToMultiplesOf512InOneSmallSegment) {
  std::vector<Bytes> sizes;
  for (const Bytes bytes : {40000, 40, 4000, 40}) sizes.push_back(allocator_.malloc(bytes)->size);
  EXPECT_THAT(sizes, ElementsAre(40448, 512, 4096, 512));
  EXPECT_EQ(allocator_.requested(), 44080);
  EXPECT_EQ(allocator_.allocated(), 45568);
  EXPECT_EQ(allocator_.reserved(), 2_MiB);
}

TEST_F(CachingAllocatorTest, DoesNotSplitOffAMebibyteOrLessInTheLargePool) {
  EXPECT_EQ(allocator_.malloc(11_MiB + 512_KiB)->size, 12_MiB);
  EXPECT_EQ(allocator_.allocated(), 12_MiB);
  EXPECT_EQ(allocator_.requested(), 11_MiB + 512_KiB);
}

TEST_F(CachingAllocatorTest, SegmentsFollowTheSizeOfTheRequest) {
  allocator_.malloc(1_MiB);
  EXPECT_EQ(allocator_.reserved(), 2_MiB);
  allocator_.malloc(1_MiB + 1);
  EXPECT_EQ(allocator_.reserved(), 22_MiB);
  allocator_.malloc(10_MiB);
  EXPECT_EQ(allocator_.reserved(), 22_MiB) << "18 MiB are still free in the large segment";
  allocator_.malloc(10_MiB);
  EXPECT_EQ(allocator_.reserved(), 32_MiB);
  allocator_.malloc(21_MiB);
  EXPECT_EQ(allocator_.reserved(), 54_MiB);
}

TEST_F(CachingAllocatorTest, ARequestOfZeroBytesIsNoBlockAndNoFailure) {
  EXPECT_EQ(allocator_.malloc(0), nullptr);
  EXPECT_FALSE(allocator_.failure());
  EXPECT_EQ(allocator_.statistics().num_ooms, 0);
}

TEST_F(CachingAllocatorTest, TakesTheSmallestBlockThatFitsAndTheLowestOfEquals) {
  std::vector<Block*> blocks;
  for (const Bytes bytes : {2048, 512, 1024, 512, 1024, 512})
    blocks.push_back(allocator_.malloc(bytes));
  const Address low = blocks[2]->address;
  for (const std::size_t i : {4u, 0u, 2u}) allocator_.free(blocks[i]);
  EXPECT_EQ(allocator_.malloc(1000)->address, low);
}

TEST_F(CachingAllocatorTest, MergesWithBothNeighbours) {
  Block* a = allocator_.malloc(512);
  Block* b = allocator_.malloc(512);
  Block* c = allocator_.malloc(512);
  allocator_.free(a);
  allocator_.free(c);
  EXPECT_THAT(layout(allocator_), ElementsAre(-512, 512, -(2_MiB - 1024)));
  allocator_.free(b);
  EXPECT_THAT(layout(allocator_), ElementsAre(-2_MiB));
}

TEST_F(CachingAllocatorTest, StreamsDoNotShareSegments) {
  Block* block = allocator_.malloc(512, 0);
  allocator_.free(block);
  allocator_.malloc(512, 3);
  EXPECT_EQ(allocator_.reserved(), 4_MiB);
}

TEST_F(CachingAllocatorTest, ABlockUsedElsewhereIsFreeForReuseAtTheNextMalloc) {
  Block* block = allocator_.malloc(3_MiB);
  const Address address = block->address;
  allocator_.record_stream(block, 1);
  allocator_.free(block);
  EXPECT_EQ(allocator_.allocated(), 0);
  EXPECT_EQ(allocator_.requested(), 3_MiB) << "follows the active blocks";
  EXPECT_EQ(allocator_.statistics().active_bytes.current, 3_MiB);
  EXPECT_EQ(allocator_.malloc(3_MiB)->address, address);
}

TEST_F(CachingAllocatorTest, ABlockUsedElsewhereCanWaitForSynchronize) {
  CachingAllocator waiting(*driver_, {}, EventCompletion::at_synchronize);
  Block* block = waiting.malloc(20_MiB);
  const Address address = block->address;
  waiting.record_stream(block, 1);
  waiting.record_stream(block, 1);
  waiting.free(block);
  EXPECT_NE(waiting.malloc(20_MiB)->address, address);
  waiting.synchronize();
  EXPECT_EQ(waiting.malloc(20_MiB)->address, address);
}

TEST_F(CachingAllocatorTest, UseOnItsOwnStreamDoesNotDelayABlock) {
  Block* block = allocator_.malloc(512, 2);
  allocator_.record_stream(block, 2);
  allocator_.free(block);
  EXPECT_EQ(allocator_.requested(), 0);
}

TEST_F(CachingAllocatorTest, EmptyCacheReleasesWholeSegmentsOnlyLargePoolFirst) {
  std::vector<SegmentEvent> log;
  Block* kept = allocator_.malloc(512);
  Block* large = allocator_.malloc(30_MiB);
  Block* small = allocator_.malloc(512, 1);
  allocator_.malloc(2_MiB);
  allocator_.free(large);
  allocator_.free(small);
  allocator_.log_segments_to(&log);
  allocator_.empty_cache();
  ASSERT_EQ(log.size(), 2u);
  EXPECT_EQ(log[0].range.size, 30_MiB);
  EXPECT_EQ(log[1].range.size, 2_MiB);
  EXPECT_EQ(allocator_.reserved(), 22_MiB);
  allocator_.free(kept);
}

TEST_F(CachingAllocatorTest, GivesCachedSegmentsBackBeforeItFails) {
  driver_->set_memory({.total = 100_MiB, .outside = 10_MiB});
  Block* block = allocator_.malloc(40_MiB);
  allocator_.malloc(40_MiB);
  allocator_.free(block);
  EXPECT_NE(allocator_.malloc(44_MiB), nullptr) << "only after the cached 40 MiB are released";
  EXPECT_EQ(allocator_.num_alloc_retries(), 1);
  EXPECT_EQ(allocator_.reserved(), 84_MiB);
  EXPECT_EQ(allocator_.malloc(9_MiB), nullptr);
  ASSERT_TRUE(allocator_.failure());
  EXPECT_EQ(allocator_.failure()->requested, 9_MiB);
  EXPECT_EQ(allocator_.failure()->segment, 20_MiB);
  EXPECT_EQ(allocator_.statistics().num_ooms, 1);
  EXPECT_EQ(allocator_.num_alloc_retries(), 2);
}

TEST_F(CachingAllocatorTest, AnAbsurdRequestFailsWithoutOverflow) {
  EXPECT_EQ(allocator_.malloc(kUnlimited), nullptr);
  EXPECT_EQ(allocator_.malloc(kUnlimited - 511), nullptr);
  EXPECT_EQ(allocator_.failure()->requested, kUnlimited - 511);
  EXPECT_NE(allocator_.malloc(512), nullptr);
}

TEST_F(CachingAllocatorTest, TheMemoryFractionLimitsReservedBytes) {
  driver_->set_memory({.total = 100_MiB, .outside = 0});
  AllocatorConfig config;
  config.per_process_memory_fraction = 0.5;
  CachingAllocator half(*driver_, config);
  EXPECT_NE(half.malloc(50_MiB), nullptr);
  EXPECT_EQ(half.malloc(2_MiB), nullptr);
}

TEST_F(CachingAllocatorTest, OversizeBlocksAreNeitherSplitNorLentToSmallerRequests) {
  AllocatorConfig config;
  config.max_split_size = 64_MiB;
  CachingAllocator allocator(*driver_, config);
  allocator.free(allocator.malloc(100_MiB));
  EXPECT_EQ(allocator.malloc(30_MiB)->size, 30_MiB);
  EXPECT_EQ(allocator.reserved(), 130_MiB);
  EXPECT_EQ(allocator.malloc(90_MiB)->size, 100_MiB) << "within 20 MiB of the request";
  allocator.malloc(70_MiB);
  EXPECT_EQ(allocator.reserved(), 200_MiB);
}

TEST_F(CachingAllocatorTest, StartsFromARecordedState) {
  const std::vector<InitialSegment> initial{
      {.range = {0, 20_MiB},
       .is_small = false,
       .blocks = {{0, 2_MiB}, {6_MiB, 3_MiB + 512_KiB}, {10_MiB, 10_MiB}}},
      {.range = {32_MiB, 2_MiB}, .stream = 1, .is_small = true, .blocks = {{32_MiB + 512, 512}}}};
  const std::vector<Block*> live = allocator_.adopt(initial);
  EXPECT_EQ(live.size(), 4u);
  EXPECT_THAT(layout(allocator_),
              ElementsAre(2_MiB, -4_MiB, 4_MiB, 10_MiB, -512, 512, -(2_MiB - 1024)));
  EXPECT_EQ(allocator_.malloc(4_MiB)->address, 2_MiB);
  EXPECT_EQ(allocator_.malloc(600, 1)->address, 32_MiB + 1024);
  for (Block* block : live) allocator_.free(block);
  EXPECT_EQ(allocator_.reserved(), 22_MiB);
}

}  // namespace
}  // namespace memtape
