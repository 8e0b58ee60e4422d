// SPDX-License-Identifier: Apache-2.0
// What counts as fitting, and the command that asks for a fitting in full.
#include "answer/fits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "answer/handed.h"

namespace memtape::answer {
namespace {

using testing::ElementsAre;

TEST(Fits, TakesWhatMayFitUnlessAskedToBeStrict) {
  FitsQuestion question;
  EXPECT_TRUE(question.accepts(VerdictWord::fits, true));
  EXPECT_TRUE(question.accepts(VerdictWord::may_not_fit, true));
  EXPECT_FALSE(question.accepts(VerdictWord::may_not_fit, false));
  EXPECT_FALSE(question.accepts(VerdictWord::does_not_fit, true));
  EXPECT_FALSE(question.accepts(std::nullopt, std::nullopt)) << "nothing is known";
  question.strict = true;
  EXPECT_FALSE(question.accepts(VerdictWord::may_not_fit, true));
  EXPECT_TRUE(question.accepts(VerdictWord::fits, true));
}

TEST(Fits, LeavesTheReserveToOthers) {
  const Handed outside({}, "", {}, {});
  const auto asked = fits_question({.values = {{"gpu", "rtx-4090"}, {"reserve", "2GiB"}}}, outside);
  const auto plain = fits_question({.values = {{"gpu", "rtx-4090"}, {"reserve", "0"}}}, outside);
  ASSERT_TRUE(asked) << asked.error().line();
  ASSERT_TRUE(plain) << plain.error().line();
  EXPECT_EQ(*plain->room() - *asked->room(), 2_GiB);
}

TEST(Fitting, IsAskedForByTheRoomThatIsLeft) {
  const Handed outside({}, "", {}, {});
  const auto question =
      fits_question({.values = {{"gpu", "rtx-4090"}, {"reserve", "2GiB"}}}, outside);
  ASSERT_TRUE(question) << question.error().line();
  Fitting fitting;
  fitting.id = "Qwen/Qwen3-8B";
  fitting.ask_by("train", {{"gpu", "rtx-4090"}, {"json", ""}}, *question);
  EXPECT_THAT(fitting.command,
              ElementsAre("memtape", "train", "Qwen/Qwen3-8B", "--gpu", "rtx-4090", "--json",
                          "--gpu-memory-bytes", std::to_string(*question->room())));
}

TEST(Fits, RefusesAGpuThatNobodyKnows) {
  const Handed outside({}, "", {}, {});
  EXPECT_FALSE(fits_question({.values = {{"gpu", "no-such-gpu"}}}, outside));
}

}  // namespace
}  // namespace memtape::answer
