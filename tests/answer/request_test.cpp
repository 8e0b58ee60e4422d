// SPDX-License-Identifier: Apache-2.0
// A request as the library, MCP and HTTP hand it over (docs/library.md).
#include "answer/request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace memtape::answer {
namespace {

using testing::ElementsAre;

std::string error_of(std::string_view json) {
  const Result<Request> request = read_request(json);
  return request ? "(no error)" : request.error().line();
}

TEST(Request, KeepsValuesByTheirKind) {
  const Result<Request> request = read_request(
      R"({"command": "train", "model": "m", "options": {"gpu": "l4", "lora-rank": 16, "json": true,
          "peft": {"r": 8}, "offload": null, "lora-targets": ["q", "v"]}})");
  ASSERT_TRUE(request) << request.error().line();
  ASSERT_EQ(request->options.size(), 6);
  EXPECT_THAT(request->options[1].texts, ElementsAre("16"));
  EXPECT_EQ(request->options[2].truth, true);
  EXPECT_THAT(request->options[3].texts, ElementsAre("{\"r\": 8}"));
  EXPECT_TRUE(request->options[4].is_absent);
  EXPECT_TRUE(request->options[5].is_list);
  EXPECT_THAT(request->options[5].texts, ElementsAre("q", "v"));
  EXPECT_EQ(request->form, Form::json);
}

TEST(Request, NamesAModelThatIsHandedOver) {
  EXPECT_EQ(read_request(R"({"command": "train", "config": {"a": 1}})")->model, "config.json");
  EXPECT_EQ(read_request(R"({"command": "train", "config": {"a": 1}})")->config, "{\"a\": 1}");
  EXPECT_EQ(read_request(R"({"command": "train", "config": null})")->config, "");
}

TEST(Request, SuggestsKeysAndForms) {
  EXPECT_THAT(error_of(R"({"comand": "train"})"),
              testing::AllOf(testing::StartsWith("request.comand: unknown key"),
                             testing::HasSubstr("command")));
  EXPECT_THAT(error_of(R"({"command": "train", "as": "yaml"})"),
              testing::StartsWith("request.as: unusable value \"yaml\""));
  EXPECT_THAT(error_of(R"({"command": "train", "installed": {"x": 1}})"),
              testing::StartsWith("request.installed.x: unknown key"));
}

TEST(Request, IsSaidInOneWay) {
  EXPECT_THAT(error_of("{}"), testing::StartsWith("request: names no command"));
  EXPECT_THAT(error_of(R"({"argv": []})"), testing::StartsWith("request.argv: names no command"));
  EXPECT_THAT(error_of(R"({"argv": ["train"], "model": "m"})"),
              testing::StartsWith("request.argv: says all of it by itself"));
}

TEST(Request, IsRefusedWhereItIsNoJson) {
  for (const char* json : {"", "[]", "{", R"({"command": "train"} x)", R"({"command": 1})"})
    EXPECT_THAT(error_of(json), testing::StartsWith("request")) << json;
  EXPECT_EQ(error_of(R"({"command": "train", "model": "a\u0000b"})"),
            "request: holds a zero byte (text without zeros)");
}

}  // namespace
}  // namespace memtape::answer
