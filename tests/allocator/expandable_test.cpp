// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "allocator/recorded_reservations.h"

namespace memtape {
namespace {

class ExpandableTest : public ::testing::Test {
 protected:
  static AllocatorConfig expandable() {
    AllocatorConfig config;
    config.expandable_segments = true;
    return config;
  }

  std::unique_ptr<Driver> driver_ =
      make_driver(DriverPlacement::linux_regions, {.total = 200_MiB, .outside = 0});
  CachingAllocator allocator_{*driver_, expandable()};
};

TEST_F(ExpandableTest, MapsGranulesOfTheirPool) {
  allocator_.malloc(512);
  EXPECT_EQ(allocator_.reserved(), 2_MiB);
  allocator_.malloc(25_MiB);
  EXPECT_EQ(allocator_.reserved(), 42_MiB) << "two granules of 20 MiB";
  allocator_.malloc(14_MiB);
  EXPECT_EQ(allocator_.reserved(), 42_MiB);
}

TEST_F(ExpandableTest, SplitsTheLargePoolAt512Bytes) {
  EXPECT_EQ(allocator_.malloc(11_MiB + 512_KiB)->size, 11_MiB + 512_KiB);
}

TEST_F(ExpandableTest, GrowsAtItsFreeTailByWhatIsMissing) {
  const Block* first = allocator_.malloc(15_MiB);
  const Block* second = allocator_.malloc(20_MiB);
  EXPECT_EQ(second->address, first->address + 15_MiB);
  EXPECT_EQ(allocator_.reserved(), 40_MiB);
}

TEST_F(ExpandableTest, PrefersALargerHoleInsideToTheTailThatCanGrow) {
  Block* hole = allocator_.malloc(16_MiB);
  const Address address = hole->address;
  allocator_.malloc(12_MiB);  // leaves a tail of 12 MiB
  allocator_.free(hole);
  EXPECT_EQ(allocator_.malloc(11_MiB)->address, address);
}

TEST_F(ExpandableTest, ReleasesGranulesThatAreWhollyFree) {
  Block* block = allocator_.malloc(50_MiB);
  Block* tail = allocator_.malloc(5_MiB);
  allocator_.free(block);
  allocator_.empty_cache();
  EXPECT_EQ(allocator_.reserved(), 20_MiB) << "of 50 MiB free the first two granules go";
  allocator_.free(tail);
  allocator_.empty_cache();
  EXPECT_EQ(allocator_.reserved(), 0);
  EXPECT_TRUE(allocator_.segments().empty());
}

TEST_F(ExpandableTest, FillsAHoleOfUnmappedGranulesAgain) {
  Block* block = allocator_.malloc(40_MiB);
  const Address address = block->address;
  allocator_.malloc(5_MiB);
  allocator_.free(block);
  allocator_.empty_cache();
  EXPECT_EQ(allocator_.malloc(30_MiB)->address, address);
  EXPECT_EQ(allocator_.reserved(), 60_MiB);
}

TEST_F(ExpandableTest, FailsWhenTheDeviceIsFullAndRetriesAfterARelease) {
  Block* small = allocator_.malloc(512);
  Block* block = allocator_.malloc(170_MiB);
  EXPECT_EQ(allocator_.malloc(40_MiB), nullptr);
  EXPECT_EQ(allocator_.failure()->segment, 40_MiB);
  allocator_.free(block);
  EXPECT_NE(allocator_.malloc(170_MiB, 1), nullptr) << "on another stream, after the release";
  EXPECT_EQ(allocator_.num_alloc_retries(), 2);
  allocator_.free(small);
}

TEST_F(ExpandableTest, StartsFromARecordedStateWithAHole) {
  const std::vector<InitialSegment> initial{
      {.range = {0, 20_MiB}, .is_expandable = true, .blocks = {{0, 5_MiB}}},
      {.range = {60_MiB, 40_MiB}, .is_expandable = true, .blocks = {{70_MiB, 30_MiB}}}};
  allocator_.adopt(initial);
  EXPECT_EQ(allocator_.reserved(), 60_MiB);
  EXPECT_EQ(allocator_.malloc(10_MiB)->address, 60_MiB) << "free and not growable";
  EXPECT_EQ(allocator_.malloc(25_MiB)->address, 5_MiB)
      << "the free tail before the hole grows by one granule";
  EXPECT_EQ(allocator_.reserved(), 80_MiB);
}

TEST(RecordedReservations, ReachFromTheLowestStretchEverMappedToTheNextPool) {
  RecordedTrace trace;
  trace.initial = {
      {.range = {40_MiB, 20_MiB}, .is_expandable = true, .blocks = {}},
      {.range = {200_MiB, 2_MiB}, .is_small = true, .is_expandable = true, .blocks = {}}};
  trace.events = {{TraceAction::segment_map, 0, 0, 20_MiB},
                  {TraceAction::alloc, 0, 0, 12_MiB},
                  {TraceAction::segment_map, 0, 202_MiB, 2_MiB},
                  {TraceAction::alloc, 0, 202_MiB, 512}};
  const auto reservations = recorded_reservations(trace);
  ASSERT_EQ(reservations.size(), 2u);
  EXPECT_EQ(reservations[0].range, (AddressRange{0, 200_MiB}));
  EXPECT_FALSE(reservations[0].is_small);
  EXPECT_EQ(reservations[1].range.address, 200_MiB);
  EXPECT_TRUE(reservations[1].is_small);
}

TEST(RecordedReservations, LetARecordedStateGrowBelowWhatIsMapped) {
  AllocatorConfig config;
  config.expandable_segments = true;
  const auto driver = make_driver(DriverPlacement::linux_regions);
  CachingAllocator allocator(*driver, config);
  const std::vector<InitialSegment> initial{
      {.range = {40_MiB, 20_MiB}, .is_expandable = true, .blocks = {{40_MiB, 20_MiB}}}};
  const std::vector<ExpandableReservation> reservations{{.range = {0, 400_MiB}}};
  allocator.adopt(initial, reservations);
  EXPECT_EQ(allocator.malloc(30_MiB)->address, 0);
  EXPECT_EQ(allocator.reserved(), 60_MiB);
  EXPECT_EQ(allocator.malloc(30_MiB)->address, 60_MiB);
}

}  // namespace
}  // namespace memtape
