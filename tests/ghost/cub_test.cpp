// SPDX-License-Identifier: Apache-2.0
// The scratch of cub's algorithms, as PyTorch 2.11 with CUDA 13.0 asked for it: torch.nonzero of
// bool tensors on phantom GPUs of several compute capabilities.
#include "ghost/ops/cub.h"

#include <gtest/gtest.h>

#include "ghost/session.h"

namespace memtape::ghost::cub {
namespace {

constexpr DeviceTraits kA100{.major = 8, .minor = 0, .sm_count = 108};
constexpr DeviceTraits kH100{.major = 9, .minor = 0, .sm_count = 132};
constexpr DeviceTraits kRtx4090{.major = 8, .minor = 9, .sm_count = 128};
constexpr DeviceTraits kT4{.major = 7, .minor = 5, .sm_count = 40};
constexpr DeviceTraits kB200{.major = 10, .minor = 0, .sm_count = 148};

TEST(Cub, CountsInOneTileOrInAsManyBlocksAsTheDeviceHolds) {
  EXPECT_EQ(reduce_bytes(kA100, 4096), 1);
  EXPECT_EQ(reduce_bytes(kA100, 4097), 17663);
  EXPECT_EQ(reduce_bytes(kH100, 4097), 21503);
  EXPECT_EQ(reduce_bytes(kRtx4090, 4097), 15615);
  EXPECT_EQ(reduce_bytes(kT4, 4097), 3583);
  EXPECT_EQ(reduce_bytes(kB200, 4097), 24063);
}

TEST(Cub, SelectsInTilesTunedPerArchitecture) {
  const Session session(kA100);  // the release decides
  EXPECT_EQ(select_flagged_bytes(kA100, 73728), 1023);
  EXPECT_EQ(select_flagged_bytes(kA100, 73729), 1279);
  EXPECT_EQ(select_flagged_bytes(kH100, 135168), 1023);
  EXPECT_EQ(select_flagged_bytes(kH100, 135169), 1279);
  EXPECT_EQ(select_flagged_bytes(kRtx4090, 20480), 1023);
  EXPECT_EQ(select_flagged_bytes(kRtx4090, 20481), 1279);
  EXPECT_EQ(select_flagged_bytes(kB200, 112640), 1023);
  EXPECT_EQ(select_flagged_bytes(kB200, 112641), 1279);
  EXPECT_EQ(select_flagged_bytes(kT4, 2097152), 27135);
  EXPECT_EQ(select_flagged_bytes(kA100, 2097152), 8191);
}

}  // namespace
}  // namespace memtape::ghost::cub
