// SPDX-License-Identifier: Apache-2.0
#include "base/json_object.h"

#include <vector>

#include <gtest/gtest.h>

namespace memtape {
namespace {

TEST(JsonObject, WritesEachKindOfValue) {
  const std::vector<std::string> words{"q_proj", "a \"b\""};
  EXPECT_EQ(JsonObject()
                .add("r", 16)
                .add("dropout", 0.05)
                .add("on", true)
                .add("name", "nf4")
                .add("words", words)
                .add("inner", JsonObject().add("stage", std::int64_t{3}))
                .add_json("raw", "[1, 2]")
                .text(),
            R"({"r": 16, "dropout": 0.05, "on": true, "name": "nf4", "words": ["q_proj", )"
            R"("a \"b\""], "inner": {"stage": 3}, "raw": [1, 2]})");
}

TEST(JsonObject, IsEmptyWithoutMembers) { EXPECT_EQ(JsonObject().text(), "{}"); }

}  // namespace
}  // namespace memtape
