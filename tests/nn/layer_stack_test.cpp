// SPDX-License-Identifier: Apache-2.0
// The period of a stack decides which layers are written down instead of run, so a period that is
// wrong would give every layer the memory of another.
#include "nn/layer_stack.h"

#include <random>
#include <string_view>

#include <gtest/gtest.h>

namespace memtape::nn {
namespace {

std::size_t period_of(std::string_view kinds) {
  return layer_period(kinds.size(), [&](std::size_t i) { return kinds[i]; });
}

TEST(LayerPeriod, IsTheShortestThatFits) {
  EXPECT_EQ(period_of("aaaaaaaa"), 1);
  EXPECT_EQ(period_of("abababab"), 2) << "Gemma 2";
  EXPECT_EQ(period_of("aaaaabaaaaab"), 6) << "Gemma 3";
  EXPECT_EQ(period_of("aaaaabaaaaabaa"), 6) << "the last period need not be whole";
  EXPECT_EQ(period_of("abbbbbbbbbbb"), 0) << "DeepSeek: the first layer is dense";
}

TEST(LayerPeriod, IsAtMostEight) {
  EXPECT_EQ(period_of("aaaaaaabaaaaaaab"), 8) << "Jamba";
  EXPECT_EQ(period_of("aaaaaaaabaaaaaaaab"), 0);
}

TEST(LayerPeriod, RepeatsTheKindsAndNoShorterOneDoes) {
  std::mt19937 random(11);
  const auto repeats = [](std::string_view kinds, std::size_t period) {
    for (std::size_t i = period; i < kinds.size(); ++i)
      if (kinds[i] != kinds[i - period]) return false;
    return true;
  };
  for (int trial = 0; trial < 500; ++trial) {
    std::string kinds;
    for (std::size_t i = 0, layers = 1 + random() % 12; i < layers; ++i)
      kinds += random() % 3 == 0 ? 'b' : 'a';
    const std::size_t period = period_of(kinds);
    for (std::size_t shorter = 1; shorter < (period == 0 ? 9 : period); ++shorter)
      EXPECT_FALSE(repeats(kinds, shorter)) << kinds << " repeats after " << shorter;
    if (period > 0) {
      EXPECT_TRUE(repeats(kinds, period)) << kinds << ", " << period;
    }
  }
}

}  // namespace
}  // namespace memtape::nn
