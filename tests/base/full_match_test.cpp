// SPDX-License-Identifier: Apache-2.0
#include "base/full_match.h"

#include <string>

#include <gtest/gtest.h>

namespace memtape {
namespace {

TEST(FullMatch, ReadsWhatPeopleWriteOverModules) {
  const std::string_view name = "model.layers.11.self_attn.q_proj";
  for (const std::string_view pattern :
       {"model.layers.11.self_attn.q_proj", ".*attn.*", R"(model\.layers\.\d+\..*)",
        ".*(q|k|v)_proj", ".*[qkv]_proj", "^.*_(?:proj|dense)$", R"(.*\.1?1\.[a-z_.]+)"})
    EXPECT_EQ(full_match(pattern, name), true) << pattern;
  for (const std::string_view pattern : {"attn", ".*mlp.*", ".*[^q]_proj", "model", ""})
    EXPECT_EQ(full_match(pattern, name), false) << pattern;
}

TEST(FullMatch, SaysNothingOfWhatItCannotRead) {
  for (const std::string_view pattern : {"*", "a(", "a)", "[a", "a\\", "a{2}", "(?=a)", "a|*"})
    EXPECT_EQ(full_match(pattern, "aa"), std::nullopt) << pattern;
}

TEST(FullMatch, GivesUpWhereTheSearchWouldNotEnd) {
  EXPECT_EQ(full_match("(a*)*(a*)*b", std::string(200, 'a')), std::nullopt);
}

}  // namespace
}  // namespace memtape
