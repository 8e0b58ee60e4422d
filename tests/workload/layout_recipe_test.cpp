// SPDX-License-Identifier: Apache-2.0
// How many GPUs a layout takes at least, where nobody says --gpus.
#include "workload/layout_recipe.h"

#include <gtest/gtest.h>

namespace memtape {
namespace {

/// What a layout of these axes takes; 0 stands for an axis that nobody names.
struct Axes {
  std::int64_t dp = 0, tp = 0, pp = 0, cp = 0, ep = 0;
  std::int64_t gpus(std::int64_t expert_tensor = 1) const {
    LayoutRecipe layout;
    const auto name = [](std::int64_t size, std::optional<std::int64_t>& axis) {
      if (size > 0) axis = size;
    };
    name(dp, layout.dp);
    name(tp, layout.tp);
    name(pp, layout.pp);
    name(cp, layout.cp);
    name(ep, layout.ep);
    return layout.fewest_gpus(expert_tensor);
  }
};

TEST(LayoutRecipe, TakesTheProductOfItsAxes) {
  EXPECT_EQ(Axes{}.gpus(), 1);
  EXPECT_EQ((Axes{.tp = 4, .pp = 2, .cp = 2}.gpus()), 16);
  EXPECT_EQ((Axes{.dp = 3, .tp = 4}.gpus()), 12);
  EXPECT_EQ((Axes{.dp = 3, .tp = 4, .ep = 8}.gpus()), 12) << "data ranks that are named decide";
}

/// Megatron: the world is a multiple of tp x pp x cp and of etp x ep x pp.
TEST(LayoutRecipe, LetsExpertsFillTheSameGpus) {
  EXPECT_EQ((Axes{.tp = 4, .ep = 8}.gpus()), 8);
  EXPECT_EQ((Axes{.tp = 4, .ep = 8}.gpus(4)), 32);
  EXPECT_EQ((Axes{.tp = 2, .pp = 3, .ep = 4}.gpus()), 12);
  for (std::int64_t tp = 1; tp <= 8; ++tp)
    for (std::int64_t ep = 1; ep <= 8; ++ep) {
      const std::int64_t gpus = Axes{.tp = tp, .ep = ep}.gpus();
      EXPECT_EQ(gpus % tp, 0) << tp << " x " << ep;
      EXPECT_EQ(gpus % ep, 0) << tp << " x " << ep;
      EXPECT_LE(gpus, tp * ep);
    }
}

TEST(LayoutRecipe, CountsNoFurtherThanThereAreGpus) {
  constexpr std::int64_t kMany = std::int64_t{1} << 40;
  EXPECT_EQ((Axes{.tp = kMany, .pp = kMany, .cp = kMany}.gpus()), kMostGpus + 1);
  EXPECT_EQ(Axes{.dp = kMostGpus}.gpus(), kMostGpus);
}

}  // namespace
}  // namespace memtape
