// SPDX-License-Identifier: Apache-2.0
// What SGLang does by default with a device, by release: the figures that its server printed.
#include "framework/sglang/versions.h"

#include <gtest/gtest.h>

namespace memtape::sglang {
namespace {

Defaults defaults_in(Version version, const DefaultsInput& input) {
  Release release;
  release.set(Package::sglang, version);
  return defaults_of(release, input);
}

constexpr double kH100 = 81559, kL4 = 23034;  ///< MiB, as nvidia-smi prints them

TEST(SglangDefaults, AreATableByRanksAtFirst) {
  EXPECT_EQ(defaults_in({0, 4, 7}, {.gpu_mib = kH100}).mem_fraction_static, 0.88);
  EXPECT_EQ(defaults_in({0, 4, 7}, {.gpu_mib = kH100, .tp = 8}).mem_fraction_static, 0.81);
  EXPECT_EQ(defaults_in({0, 4, 7}, {.gpu_mib = kL4}).chunked_prefill_size, 2048);
}

TEST(SglangDefaults, LeaveAReserveByTheDeviceThen) {
  EXPECT_NEAR(defaults_in({0, 4, 8}, {.gpu_mib = kH100}).mem_fraction_static, 0.874, 1e-9);
  EXPECT_EQ(defaults_in({0, 4, 8}, {.gpu_mib = kH100}).graph_max_batch, 160);
  EXPECT_EQ(defaults_in({0, 5, 2}, {.gpu_mib = kH100}).graph_max_batch, 160);
}

TEST(SglangDefaults, SumWhatIsUsedSince053) {
  EXPECT_EQ(defaults_in({0, 5, 3}, {.gpu_mib = kH100}).graph_max_batch, 256);
  const double without = defaults_in({0, 5, 9}, {.gpu_mib = kL4}).mem_fraction_static;
  const double with = defaults_in({0, 5, 10}, {.gpu_mib = kL4}).mem_fraction_static;
  EXPECT_GT(without, with) << "the graphs of prefill are counted, too";
}

TEST(SglangDefaults, FillSmallDevicesSince0514) {
  EXPECT_EQ(defaults_in({0, 5, 13}, {.gpu_mib = kL4}).chunked_prefill_size, 2048);
  EXPECT_EQ(defaults_in({0, 5, 14}, {.gpu_mib = kL4}).chunked_prefill_size, 4096);
  const DefaultsInput few{.gpu_mib = kL4, .max_running_requests = 4};
  EXPECT_EQ(defaults_in({0, 5, 13}, few).graph_max_batch, 24);
  EXPECT_EQ(defaults_in({0, 5, 14}, few).graph_max_batch, 4);
}

}  // namespace
}  // namespace memtape::sglang
