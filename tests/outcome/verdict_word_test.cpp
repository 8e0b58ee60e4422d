// SPDX-License-Identifier: Apache-2.0
// The three verdicts by where the limit lies.
#include "outcome/verdict_word.h"

#include <gtest/gtest.h>

namespace memtape {
namespace {

/// Where the limit lies within the bounds, neither verdict is certain.
TEST(VerdictWord, IsCertainOutsideOfTheBoundsAlone) {
  const Bounds bounds{.low_bytes = 90, .high_bytes = 110, .causes = {}};
  EXPECT_EQ(verdict_word(true, bounds, 110), VerdictWord::fits) << "exactly full fits";
  EXPECT_EQ(verdict_word(true, bounds, 109), VerdictWord::may_not_fit);
  EXPECT_EQ(verdict_word(false, bounds, 90), VerdictWord::may_not_fit);
  EXPECT_EQ(verdict_word(false, bounds, 89), VerdictWord::does_not_fit);
}

}  // namespace
}  // namespace memtape
