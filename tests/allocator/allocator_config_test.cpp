// SPDX-License-Identifier: Apache-2.0
#include "allocator/allocator_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace memtape {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(AllocatorConfig, TheEmptyTextIsTheDefault) {
  const auto config = AllocatorConfig::parse("");
  ASSERT_TRUE(config);
  EXPECT_EQ(config->max_split_size, kUnlimited);
  EXPECT_EQ(config->large_segment_size, 20_MiB);
  EXPECT_FALSE(config->expandable_segments);
}

TEST(AllocatorConfig, ReadsEveryKeyThatMatters) {
  const auto config = AllocatorConfig::parse(
      "max_split_size_mb:128, "
      "max_non_split_rounding_mb:64,garbage_collection_threshold:0.8,expandable_segments:True,"
      "per_process_memory_fraction:0.5,backend:native,pinned_use_background_threads:True,");
  ASSERT_TRUE(config) << config.error().line();
  EXPECT_EQ(config->max_split_size, 128_MiB);
  EXPECT_EQ(config->max_non_split_rounding_size, 64_MiB);
  EXPECT_EQ(config->garbage_collection_threshold, 0.8);
  EXPECT_EQ(config->per_process_memory_fraction, 0.5);
  EXPECT_TRUE(config->expandable_segments);
}

std::string problem(std::string_view text) {
  const auto config = AllocatorConfig::parse(text);
  return config ? "" : config.error().line();
}

TEST(AllocatorConfig, NamesTheNearestKey) {
  EXPECT_THAT(problem("max_split_sise_mb:128"), HasSubstr("did you mean max_split_size_mb?"));
  EXPECT_THAT(problem("expandable_segment:True"), HasSubstr("did you mean expandable_segments?"));
  EXPECT_THAT(problem("xyz:1"), HasSubstr("unknown key 'xyz'"));
  EXPECT_THAT(problem("xyz:1"), HasSubstr("PYTORCH_CUDA_ALLOC_CONF"));
}

// Bounds as torch 2.11 answers them.
TEST(AllocatorConfig, RefusesValuesThatPyTorchRefuses) {
  for (const std::string_view text : {"large_segment_size_mb:10",
                                      "max_split_size_mb:19",
                                      "max_split_size_mb:abc",
                                      "max_split_size_mb:20x",
                                      "max_split_size_mb",
                                      "max_split_size_mb:",
                                      "large_segment_size_mb:21,max_split_size_mb:20",
                                      "max_non_split_rounding_mb:19",
                                      "garbage_collection_threshold:0",
                                      "garbage_collection_threshold:1.0",
                                      "roundup_power2_divisions:3",
                                      "roundup_power2_divisions:0",
                                      "roundup_power2_divisions:[3:8]",
                                      "roundup_power2_divisions:[64:3]",
                                      "roundup_power2_divisions:[64:8,256:2",
                                      "expandable_segments:true",
                                      "per_process_memory_fraction:1.5",
                                      "backend:foo",
                                      "backend:cudaMallocAsync",
                                      "max_split_size_mb:99999999999999999999"})
    EXPECT_NE(problem(text), "") << text;
  EXPECT_EQ(problem("max_split_size_mb:20"), "");
  EXPECT_EQ(problem("large_segment_size_mb:11"), "");
}

std::vector<std::uint32_t> divisions(std::string_view text) {
  const auto config = AllocatorConfig::parse(text);
  return {config->roundup_power2_divisions.begin(), config->roundup_power2_divisions.end()};
}

// Tables as torch 2.11 reports them in memory_snapshot's allocator_settings.
TEST(AllocatorConfig, ReadsDivisionsAsPyTorchDoes) {
  EXPECT_THAT(divisions("roundup_power2_divisions:4"), testing::Each(4u));
  EXPECT_THAT(divisions("roundup_power2_divisions:[256:1,512:2,1024:4,>:8]"),
              ElementsAre(1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 4, 8, 8, 8, 8, 8));
  EXPECT_THAT(divisions("roundup_power2_divisions:[64:8,>:1]"),
              ElementsAre(8, 8, 8, 8, 8, 8, 8, 1, 1, 1, 1, 1, 1, 1, 1, 1));
  EXPECT_THAT(divisions("roundup_power2_divisions:[>:4]"),
              ElementsAre(0, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4));
  EXPECT_THAT(divisions("roundup_power2_divisions:[131072:4]"), testing::Each(4u));
}

TEST(AllocatorConfig, RoundsToDivisionsBetweenPowersOfTwo) {
  const auto config = *AllocatorConfig::parse("roundup_power2_divisions:4");
  EXPECT_EQ(config.round_size(1200_MiB), 1280_MiB);
  EXPECT_EQ(config.round_size(1024_MiB), 1024_MiB);
  EXPECT_EQ(config.round_size(1025_MiB), 1280_MiB);
  EXPECT_EQ(config.round_size(2048), 2048);
  EXPECT_EQ(config.round_size(2049), 2560);
  EXPECT_EQ(config.round_size(5000), 5120);
  EXPECT_EQ(config.round_size(1), 512);
}

TEST(AllocatorConfig, SizesOfSegments) {
  const AllocatorConfig config;
  EXPECT_EQ(config.allocation_size(512), 2_MiB);
  EXPECT_EQ(config.allocation_size(1_MiB), 2_MiB);
  EXPECT_EQ(config.allocation_size(1_MiB + 512), 20_MiB);
  EXPECT_EQ(config.allocation_size(10_MiB - 512), 20_MiB);
  EXPECT_EQ(config.allocation_size(10_MiB), 10_MiB);
  EXPECT_EQ(config.allocation_size(11_MiB), 12_MiB);
}

}  // namespace
}  // namespace memtape
