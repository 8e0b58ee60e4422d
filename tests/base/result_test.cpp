// SPDX-License-Identifier: Apache-2.0
#include "base/result.h"

#include <gtest/gtest.h>

namespace memtape {
namespace {

TEST(Error, LineNamesWhereWhatAndWhatWouldBeRight) {
  const Error whole{ErrorKind::bad_input, "must be positive", "config.json: num_layers", "e.g. 32"};
  EXPECT_EQ(whole.line(), "config.json: num_layers: must be positive (e.g. 32)");
}

TEST(Error, LineLeavesOutWhatIsNotThere) {
  EXPECT_EQ((Error{ErrorKind::internal, "lost", "", ""}.line()), "lost");
  EXPECT_EQ((Error{ErrorKind::internal, "lost", "here", ""}.line()), "here: lost");
}

TEST(Result, BothMakersKeepTheirKind) {
  const Result<int> bad = bad_input("a");
  const Result<int> missing = unsupported("b");
  EXPECT_EQ(bad.error().kind, ErrorKind::bad_input);
  EXPECT_EQ(missing.error().kind, ErrorKind::unsupported);
}

}  // namespace
}  // namespace memtape
