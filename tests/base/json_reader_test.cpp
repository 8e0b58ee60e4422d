// SPDX-License-Identifier: Apache-2.0
#include "base/json_reader.h"

#include <cmath>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace memtape {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(JsonReader, WalksObjectsAndArrays) {
  JsonReader json(R"( {"a": [1, -2.5e1, []], "b": {"c": null}, "d": true} )");
  std::vector<std::string> keys;
  std::vector<double> numbers;
  ASSERT_TRUE(json.enter_object());
  while (const auto key = json.key()) {
    keys.push_back(*key);
    if (json.next() != JsonKind::array) {
      json.skip();
      continue;
    }
    json.enter_array();
    while (json.item())
      if (json.next() == JsonKind::number)
        numbers.push_back(json.number().real);
      else
        json.skip();
  }
  json.finish();
  EXPECT_FALSE(json.failed()) << json.problem();
  EXPECT_THAT(keys, ElementsAre("a", "b", "d"));
  EXPECT_THAT(numbers, ElementsAre(1.0, -25.0));
}

TEST(JsonReader, KeepsTheSpellingOfNumbers) {
  const auto number = [](std::string_view text) { return JsonReader(text).number(); };
  EXPECT_EQ(number("9223372036854775807").integer, INT64_MAX);
  EXPECT_EQ(number("9223372036854775808").integer, std::nullopt);
  EXPECT_EQ(number("4096.0").integer, std::nullopt);
  EXPECT_EQ(number("1e-05").spelling, "1e-05");
  EXPECT_TRUE(std::isnan(number("NaN").real));
  EXPECT_TRUE(std::isinf(number("-Infinity").real));
}

TEST(JsonReader, ReadsEscapes) {
  EXPECT_EQ(JsonReader(R"("\"\\\/\b\f\n\r\t\u00e9\u20ac\ud83d\ude00")").text(),
            "\"\\/\b\f\n\r\t\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
}

TEST(JsonReader, TheFirstProblemEndsTheWalk) {
  JsonReader json("{\"a\": 1,\n  \"b\" 2}");
  int keys = 0;
  json.enter_object();
  while (json.key()) {
    json.skip();
    ++keys;
  }
  json.fail("something later");
  EXPECT_EQ(keys, 1);
  EXPECT_EQ(json.problem(), "line 2, column 7: expected ':' after a key");
}

TEST(JsonReader, RefusesWhatIsNoJson) {
  const auto problem = [](std::string_view text) {
    JsonReader json(text);
    json.skip();
    json.finish();
    return json.problem();
  };
  EXPECT_EQ(problem(R"({"a": [1, 2.5, "x", true, null, {}]})"), "");
  for (const char* text : {"",    "[1,]", "[1 2]",   "{,}",       "{\"a\"}",     "[",   "]",
                           "tru", "1.",   ".5",      "+1",        "1e",          "--1", "'a'",
                           "\"",  "[1}",  "\"\\x\"", "\"\\u12\"", "\"\\ude00\"", "nan", "// x\n1"})
    EXPECT_NE(problem(text), "") << text;
  for (const char* text :
       {"\"\xc0\xaf\"", "\"\xed\xa0\x80\"", "\"\xf5\x80\x80\x80\"", "\"\xe2\x82\"", "\"\x80\""})
    EXPECT_THAT(problem(text), HasSubstr("not UTF-8"));
  EXPECT_THAT(problem(std::string(100'000, '[')), HasSubstr("nested more than 64 deep"));
  EXPECT_THAT(problem(std::string(100'000, '1')), HasSubstr("more than 64 characters"));
}

TEST(JsonReader, QuotesText) {
  EXPECT_EQ(json_quoted("a\"\\\n\x01"), "\"a\\\"\\\\\\u000a\\u0001\"");
}

}  // namespace
}  // namespace memtape
