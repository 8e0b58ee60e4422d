// SPDX-License-Identifier: Apache-2.0
#include "allocator/driver.h"

#include <gtest/gtest.h>

#include "allocator/placement.h"

namespace memtape {
namespace {

TEST(LinuxDriver, OpensRegionsDownwardsAndFillsTheirRests) {
  const auto driver = make_driver(DriverPlacement::linux_regions);
  const Address a = *driver->allocate(20_MiB);
  const Address b = *driver->allocate(40_MiB);
  EXPECT_EQ(a % LinuxDriver::kRegion, 0);
  EXPECT_EQ(b, a - 64_MiB);
  EXPECT_EQ(*driver->allocate(10_MiB), b + 40_MiB) << "the lowest hole that holds it";
  EXPECT_EQ(*driver->allocate(12_MiB), b + 50_MiB);
  EXPECT_EQ(*driver->allocate(12_MiB), a + 20_MiB);
  EXPECT_EQ(*driver->allocate(2_MiB), b + 62_MiB);
}

TEST(LinuxDriver, GivesARegionBackWithItsLastSegment) {
  const auto driver = make_driver(DriverPlacement::linux_regions);
  const Address a = *driver->allocate(20_MiB);
  const Address b = *driver->allocate(10_MiB);
  EXPECT_EQ(b, a + 20_MiB);
  driver->release({a, 20_MiB});
  EXPECT_EQ(*driver->allocate(30_MiB), a - 32_MiB) << "20 MiB are free in the region";
  driver->release({b, 10_MiB});
  EXPECT_EQ(*driver->allocate(32_MiB), a) << "the whole region is a gap again, and the highest";
}

TEST(LinuxDriver, HolesOfNeighbouringRegionsStayApart) {
  const auto driver = make_driver(DriverPlacement::linux_regions);
  const Address a = *driver->allocate(2_MiB);
  const Address b = *driver->allocate(32_MiB);
  EXPECT_EQ(b, a - 32_MiB);
  driver->release({b, 32_MiB});
  const Address c = *driver->allocate(20_MiB);
  EXPECT_EQ(c, a + 2_MiB);
  EXPECT_EQ(*driver->allocate(34_MiB), a - 64_MiB);
}

TEST(FirstFitDriver, TakesTheLowestHole) {
  const auto driver = make_driver(DriverPlacement::first_fit);
  const Address a = *driver->allocate(20_MiB);
  const Address b = *driver->allocate(3_MiB);
  EXPECT_EQ(b, a + 20_MiB);
  EXPECT_EQ(*driver->allocate(2_MiB), b + 4_MiB);
  driver->release({a, 20_MiB});
  EXPECT_EQ(*driver->allocate(30_MiB), b + 6_MiB);
  EXPECT_EQ(*driver->allocate(18_MiB), a);
}

TEST(Driver, CountsPagesAgainstItsLimit) {
  for (const DriverPlacement placement :
       {DriverPlacement::linux_regions, DriverPlacement::first_fit}) {
    const auto driver = make_driver(placement, {.total = 10_MiB, .outside = 3_MiB});
    const auto a = driver->allocate(3_MiB);
    ASSERT_TRUE(a);
    EXPECT_EQ(driver->used(), 4_MiB);
    EXPECT_FALSE(driver->allocate(4_MiB));
    EXPECT_TRUE(driver->map({0, 2_MiB}));
    EXPECT_FALSE(driver->map({2_MiB, 2_MiB}));
    driver->release({*a, 3_MiB});
    EXPECT_EQ(driver->used(), 2_MiB);
  }
}

TEST(Driver, ReservationsTakeNoMemory) {
  for (const DriverPlacement placement :
       {DriverPlacement::linux_regions, DriverPlacement::first_fit}) {
    const auto driver = make_driver(placement, {.total = 10_MiB, .outside = 0});
    const auto a = driver->reserve(1024_MiB);
    ASSERT_TRUE(a);
    EXPECT_EQ(driver->used(), 0);
    const auto b = driver->allocate(2_MiB);
    ASSERT_TRUE(b);
    EXPECT_TRUE(*b >= *a + 1024_MiB || *b < *a);
    driver->unreserve({*a, 1024_MiB});
    EXPECT_EQ(driver->reserve(1024_MiB), a);
  }
}

TEST(Driver, NamesOfPlacements) {
  EXPECT_EQ(*driver_placement_from_name("linux"), DriverPlacement::linux_regions);
  EXPECT_EQ(*driver_placement_from_name("first-fit"), DriverPlacement::first_fit);
  EXPECT_EQ(driver_placement_from_name("firstfit").error().line(),
            "--driver-placement: unknown placement 'firstfit' (did you mean first-fit?)");
}

}  // namespace
}  // namespace memtape
