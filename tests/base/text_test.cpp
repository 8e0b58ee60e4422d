// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <array>
#include <limits>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace memtape {
namespace {

constexpr std::array<std::string_view, 4> kOptimizers{"adam", "adamw", "sgd", "adafactor"};

TEST(Nearest, FindsTheSmallestEdit) {
  EXPECT_EQ(nearest("adamvw", kOptimizers), "adamw");
  EXPECT_EQ(nearest("sgdd", kOptimizers), "sgd");
  EXPECT_EQ(nearest("AdaFactor", kOptimizers), "adafactor");
}

TEST(Nearest, IsSilentWhenNothingIsNear) {
  EXPECT_EQ(nearest("lion", kOptimizers), "");
  EXPECT_EQ(nearest("adam", {}), "");
}

TEST(Nearest, ReadsOnlyTheStartOfAVeryLongName) {
  EXPECT_EQ(nearest(std::string(1'000'000, 'x'), kOptimizers), "");
}

TEST(Suggestion, NamesTheNearestOrAll) {
  EXPECT_EQ(suggestion("adamww", kOptimizers), "did you mean adamw?");
  EXPECT_EQ(suggestion("lion", kOptimizers), "one of adam, adamw, sgd, adafactor");
  std::vector<std::string_view> many(kMostNamed + 2, "adam");
  EXPECT_TRUE(suggestion("lion", many).ends_with("adam and 2 more"));
}

TEST(HumanBytes, TakesTheLargestUnitThatFits) {
  EXPECT_EQ(human_bytes(512), "512 B");
  EXPECT_EQ(human_bytes(3_KiB), "3.0 KiB");
  EXPECT_EQ(human_bytes(1_MiB + 512_KiB), "1.50 MiB");
  EXPECT_EQ(human_bytes(-2_GiB), "-2.00 GiB");
  EXPECT_EQ(gib(12_GiB + 348_MiB), "12.34 GiB");
}

TEST(WithCommas, GroupsThreeDigits) {
  EXPECT_EQ(with_commas(0), "0");
  EXPECT_EQ(with_commas(999), "999");
  EXPECT_EQ(with_commas(1'000), "1,000");
  EXPECT_EQ(with_commas(-123'456), "-123,456");
  EXPECT_EQ(with_commas(std::numeric_limits<std::int64_t>::min()), "-9,223,372,036,854,775,808");
}

}  // namespace
}  // namespace memtape
