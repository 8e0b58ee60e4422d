// SPDX-License-Identifier: Apache-2.0
#include "release/version.h"

#include <gtest/gtest.h>

namespace memtape {
namespace {

TEST(Version, ReadsWhatPackagesArePublishedAs) {
  EXPECT_EQ(Version::parse("2.15.0"), (Version{2, 15, 0}));
  EXPECT_EQ(Version::parse("4.57"), (Version{4, 57, 0}));
  EXPECT_EQ(Version::parse("2.8.0+cu128"), (Version{2, 8, 0}));
  EXPECT_EQ(Version::parse("5.0.0rc1"), (Version{5, 0, 0}));
  EXPECT_EQ(Version::parse("0.50.2.dev0"), (Version{0, 50, 2}));
  EXPECT_EQ(Version::parse("v0.9.2"), (Version{0, 9, 2}));
  EXPECT_EQ(Version::parse("0.9.0.1"), (Version{0, 9, 0}));
}

TEST(Version, RefusesWhatIsNone) {
  for (const char* text : {"", "four", "-1", "2x8", "99999999999", ".5"})
    EXPECT_EQ(Version::parse(text), std::nullopt) << text;
}

TEST(Version, OrdersByNumberAndNotByLetter) {
  EXPECT_LT(*Version::parse("2.9.1"), *Version::parse("2.10.0"));
  EXPECT_LT(*Version::parse("4.57.6"), *Version::parse("5.0"));
}

}  // namespace
}  // namespace memtape
