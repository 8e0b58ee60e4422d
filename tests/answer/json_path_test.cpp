// SPDX-License-Identifier: Apache-2.0
#include "answer/json_path.h"

#include <gtest/gtest.h>

namespace memtape::answer {
namespace {

constexpr std::string_view kAnswer =
    R"({"model": {"id": "x", "none": null}, "ranks": [{"peak": 1}, {"peak": 22, "share": 0.5}]})";

TEST(JsonPath, StepsThroughObjectsAndLists) {
  EXPECT_EQ(integer_at(kAnswer, "ranks.1.peak"), 22);
  EXPECT_EQ(text_at(kAnswer, "model.id"), "x");
}

TEST(JsonPath, FindsNothingWhereThereIsNoSuchValue) {
  for (const char* path : {"ranks.2.peak", "ranks.peak", "ranks.-1.peak", "ranks.1x.peak", "model",
                           "model.id", "model.none", "ranks.1.share", "", "model..id", "other"})
    EXPECT_FALSE(integer_at(kAnswer, path)) << path;
  EXPECT_FALSE(text_at(kAnswer, "ranks.0.peak")) << "a number is no text";
}

TEST(JsonPath, FindsNothingInWhatIsNoJson) {
  for (const char* text : {"", "{", "[1", "nonsense", R"({"a": )"})
    EXPECT_FALSE(integer_at(text, "a")) << text;
}

}  // namespace
}  // namespace memtape::answer
