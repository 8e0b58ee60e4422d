// SPDX-License-Identifier: Apache-2.0
#include "base/pattern.h"

#include <string>

#include <gtest/gtest.h>

namespace memtape {
namespace {

TEST(Pattern, ReadsWhatPeopleWriteOverModules) {
  const std::string_view name = "model.layers.11.self_attn.q_proj";
  for (const std::string_view pattern :
       {"model.layers.11.self_attn.q_proj", ".*attn.*", R"(model\.layers\.\d+\..*)",
        ".*(q|k|v)_proj", ".*[qkv]_proj", "^.*_(?:proj|dense)$", R"(.*\.1?1\.[a-z_.]+)",
        R"(model\.layers\.1{2}\..*)", R"(.*?\b\d{1,2}\b.+?)", "(?!lm_head).*", "(?=model).*proj"})
    EXPECT_EQ(full_match(pattern, name), true) << pattern;
  for (const std::string_view pattern :
       {"attn", ".*mlp.*", ".*[^q]_proj", "model", "", R"(.*\d{3}.*)", "(?!model).*", "(?=q)"})
    EXPECT_EQ(full_match(pattern, name), false) << pattern;
}

TEST(Pattern, SearchesTheNamesOfTensors) {
  const std::string_view name = "blk.17.ffn_up_exps.weight";
  for (const std::string_view pattern :
       {R"(blk\.(1[4-9]|[234][0-9])\.ffn_.*_exps)", "exps", "^blk", "weight$", R"(\.\d\d\.)",
        R"(\.1[0-9]{1}\.ffn_(gate|up|down)_exps.)", "^(?!blk.0)", ""})
    EXPECT_EQ(search(pattern, name), true) << pattern;
  for (const std::string_view pattern :
       {"attn", "^ffn", "blk$", R"(blk\.\d\.)", "^(?!blk)", R"(exps\.(?!weight))", R"(\bffn\b)"})
    EXPECT_EQ(search(pattern, name), false) << pattern;
}

TEST(Pattern, MatchesFromTheStartOn) {
  EXPECT_EQ(match_at_start(".*lm_head", "lm_head.weight"), true);
  EXPECT_EQ(match_at_start("head", "lm_head.weight"), false);
}

TEST(Pattern, SaysNothingOfWhatItCannotRead) {
  for (const std::string_view pattern : {"*", "a(", "a)", "[a", "a\\", "a{2", "a{,2}", "a{3,2}",
                                         "(a)\\1", "(?<=a)a", "a|*", "\\x61"})
    EXPECT_EQ(full_match(pattern, "aa"), std::nullopt) << pattern;
}

TEST(Pattern, GivesUpWhereTheSearchWouldNotEnd) {
  EXPECT_EQ(full_match("(a*)*(a*)*b", std::string(200, 'a')), std::nullopt);
}

}  // namespace
}  // namespace memtape
