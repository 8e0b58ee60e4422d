// SPDX-License-Identifier: Apache-2.0
// --engine-version of llama.cpp: builds by number, as its logs print them.
#include "framework/llamacpp/build.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace memtape::llamacpp {
namespace {

std::string error_of(std::string_view text) {
  const Result<Build> build = Build::named(text);
  return build ? "(no error)" : build.error().line();
}

TEST(Build, IsReadAsLogsPrintIt) {
  for (const char* text : {"b6209", "6209", "6209 (fb22dd07)", "6209-fb22dd07"})
    EXPECT_EQ(Build::named(text)->number(), 6209) << text;
  EXPECT_EQ(Build::named("0.5.0")->number(), Build::kCurrent);
  EXPECT_GT(Build::named("0c1e5709")->number(), Build::kCurrent) << "a commit after v0.5.0";
}

TEST(Build, IsRefusedWhereItIsNoNumberOrTooOld) {
  EXPECT_EQ(error_of("latest"), "--engine-version: \"latest\" is no build (like b6209)");
  EXPECT_EQ(error_of("b62x9"), "--engine-version: \"b62x9\" is no build (like b6209)");
  EXPECT_EQ(error_of("b2412"),
            "--engine-version: build 2412 is older than what is modelled (b2413 or later)");
  EXPECT_TRUE(Build::named("b2413"));
}

/// Each question is answered otherwise at the build of its pull request, and not before.
TEST(Build, ChangesWithTheCommitOfItsPullRequest) {
  EXPECT_FALSE(Build::named("b7349")->masks_fit());
  EXPECT_TRUE(Build::named("b7350")->masks_fit()) << "#17910";
  EXPECT_FALSE(Build::named("b6924")->has_four_slots());
  EXPECT_TRUE(Build::named("b6925")->has_four_slots()) << "#16736";
  EXPECT_TRUE(Build::named("b7000")->computes_gates_early());
  EXPECT_FALSE(Build::named("b7213")->computes_gates_early()) << "#17633 took it back";
  EXPECT_FALSE(Build().computes_gates_early());
}

}  // namespace
}  // namespace memtape::llamacpp
