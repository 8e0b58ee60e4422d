// SPDX-License-Identifier: Apache-2.0
#include "model/config.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace memtape {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Config config(std::string_view json) { return Config::parse(json, "config.json").value(); }

/// The line a user sees after `read` has asked `json` for something.
template <class Read>
std::string complaint(std::string_view json, Read read) {
  const Config c = config(json);
  read(c);
  const Result<void> checked = c.check();
  return checked ? "" : checked.error().line();
}

std::string parse_error(std::string_view json) {
  const Result<Config> parsed = Config::parse(json, "config.json");
  return parsed ? "" : parsed.error().line();
}

TEST(Config, ReadsTypedValuesAndDefaults) {
  const Config c = config(
      R"({"hidden_size": 4096, "rope_theta": 1e6, "tie": false, "act": "silu", "heads": null})");
  EXPECT_EQ(c.dimension("hidden_size"), 4096);
  EXPECT_EQ(c.dimension({"n_embd", "hidden_size"}), 4096);
  EXPECT_EQ(c.dimension("vocab_size", 32000), 32000);
  EXPECT_EQ(c.count("num_experts", 0), 0);
  EXPECT_EQ(c.layers("num_hidden_layers", 32), 32);
  EXPECT_EQ(c.number("rope_theta"), 1e6);
  EXPECT_EQ(c.number("hidden_size", 0.5), 4096.0);
  EXPECT_FALSE(c.boolean("tie", true));
  EXPECT_TRUE(c.boolean("absent", true));
  EXPECT_EQ(c.text("act"), "silu");
  EXPECT_EQ(c.text("absent", "gelu"), "gelu");
  EXPECT_EQ(c.optional_integer("heads"), std::nullopt);
  EXPECT_EQ(c.optional_integer("absent"), std::nullopt);
  EXPECT_EQ(c.optional_dimension("hidden_size"), 4096);
  EXPECT_TRUE(c.has("heads"));
  EXPECT_TRUE(c.is_null("heads"));
  EXPECT_FALSE(c.has("absent"));
  EXPECT_TRUE(c.check().has_value());
}

TEST(Config, ReadsNestedObjectsAndLists) {
  const Config c =
      config(R"({"text_config": {"hidden_size": 8}, "architectures": ["A", "B"], "sizes": [1, 2],
                              "rope_scaling": null, "layers": [{"n": 1}, {"n": 2}]})");
  EXPECT_EQ(c.object("text_config").dimension("hidden_size"), 8);
  EXPECT_THAT(c.texts("architectures"), ElementsAre("A", "B"));
  EXPECT_THAT(c.integers("sizes"), ElementsAre(1, 2));
  EXPECT_TRUE(c.texts("absent").empty());
  EXPECT_FALSE(c.object("rope_scaling").has("factor"));
  EXPECT_EQ(c.objects("layers").at(1).dimension("n"), 2);
  EXPECT_EQ(c.json("layers"), R"([{"n": 1}, {"n": 2}])");
  EXPECT_THAT(c.object("text_config").keys(), ElementsAre("hidden_size"));
  EXPECT_TRUE(c.check().has_value());
}

TEST(Config, NestedValueOutlivesItsRoot) {
  const Config inner = config(R"({"a": {"b": {"n": 7}}})").object("a").object("b");
  EXPECT_EQ(inner.dimension("n"), 7);
}

TEST(Config, TheLastOfRepeatedKeysCountsAsInPython) {
  EXPECT_EQ(config(R"({"n": 1, "n": 2})").dimension("n"), 2);
}

TEST(Config, AcceptsWhatPythonWrites) {
  const Config c = config(
      R"({"limit": [0.0, Infinity], "x": NaN, "y": -Infinity, "name": "\u00e9\ud83d\ude00"})");
  EXPECT_EQ(c.text("name"), "\xc3\xa9\xf0\x9f\x98\x80");
  EXPECT_EQ(c.json("limit"), R"([0.0, "Infinity"])");
  EXPECT_EQ(c.object("absent").json(), "{}");
}

TEST(Config, NamesWhatIsWrong) {
  const auto heads = [](const Config& c) { EXPECT_EQ(c.dimension("num_attention_heads"), 1); };
  const std::string wanted =
      "config.json: num_attention_heads: must be an integer from 1 to 2147483647, found ";
  EXPECT_EQ(complaint(R"({"num_attention_heads": 0})", heads), wanted + "0");
  EXPECT_EQ(complaint(R"({"num_attention_heads": -3})", heads), wanted + "-3");
  EXPECT_EQ(complaint(R"({"num_attention_heads": 32.0})", heads), wanted + "32.0");
  EXPECT_EQ(complaint(R"({"num_attention_heads": "32"})", heads), wanted + "\"32\"");
  EXPECT_EQ(complaint(R"({"num_attention_heads": true})", heads), wanted + "true");
  EXPECT_EQ(complaint(R"({"num_attention_heads": null})", heads), wanted + "null");
  EXPECT_EQ(complaint(R"({"num_attention_heads": [32]})", heads), wanted + "[32]");
  EXPECT_EQ(complaint(R"({"num_attention_heads": 2147483648})", heads), wanted + "2147483648");
  EXPECT_EQ(complaint(R"({"num_attention_heads": 99999999999999999999})", heads),
            wanted + "99999999999999999999");
  EXPECT_EQ(complaint(R"({"num_attention_heads": 1e3})", heads), wanted + "1e3");
  EXPECT_EQ(complaint(R"({"num_attention_head": 4})", heads),
            "config.json: num_attention_heads: missing, must be an integer from 1 to 2147483647, "
            "found num_attention_head");
}

TEST(Config, NamesWhatIsWrongForEveryType) {
  EXPECT_THAT(complaint(R"({"x": NaN})", [](const Config& c) { c.number("x"); }),
              HasSubstr("must be a number, found NaN"));
  EXPECT_THAT(complaint(R"({"x": 1e999})", [](const Config& c) { c.number("x"); }),
              HasSubstr("found 1e999"));
  EXPECT_THAT(complaint(R"({"x": 1})", [](const Config& c) { c.boolean("x"); }),
              HasSubstr("must be true or false, found 1"));
  EXPECT_THAT(complaint(R"({"x": 1})", [](const Config& c) { c.text("x"); }),
              HasSubstr("must be a string, found 1"));
  EXPECT_THAT(complaint(R"({"x": 1})", [](const Config& c) { c.object("x"); }),
              HasSubstr("must be an object, found 1"));
  EXPECT_THAT(complaint(R"({"x": 1})", [](const Config& c) { c.texts("x"); }),
              HasSubstr("must be a list of strings"));
  EXPECT_THAT(complaint(R"({"x": [1.5]})", [](const Config& c) { c.integers("x"); }),
              HasSubstr("must be a list of integers"));
  EXPECT_THAT(complaint(R"({"x": [1]})", [](const Config& c) { c.objects("x"); }),
              HasSubstr("must be a list of objects"));
  EXPECT_THAT(complaint(R"({"x": 100001})", [](const Config& c) { c.layers("x"); }),
              HasSubstr("from 1 to 100000, found 100001"));
  EXPECT_THAT(complaint(R"({"x": -1})", [](const Config& c) { c.count("x", 2); }),
              HasSubstr("from 0 to 2147483647, found -1"));
}

TEST(Config, KeepsTheFirstFailureWithItsPath) {
  EXPECT_EQ(complaint(R"({"text_config": {"a": "x"}, "b": "y"})",
                      [](const Config& c) {
                        c.object("text_config").dimension("a");
                        c.dimension("b");
                      }),
            "config.json: text_config.a: must be an integer from 1 to 2147483647, found \"x\"");
  EXPECT_EQ(complaint("{}",
                      [](const Config& c) {
                        c.fail("hidden_size", "must be a multiple of num_attention_heads");
                      }),
            "config.json: hidden_size: must be a multiple of num_attention_heads");
}

TEST(Config, QuotesLongValuesBriefly) {
  const std::string json = R"({"n": ")" + std::string(5000, 'a') + R"("})";
  EXPECT_LT(complaint(json, [](const Config& c) { c.dimension("n"); }).size(), 200u);
}

TEST(Config, RefusesWhatIsNotAnObjectOfJson) {
  EXPECT_EQ(parse_error(""),
            "config.json: not valid JSON: line 1, column 1: the text ends early, expected '{'");
  EXPECT_THAT(parse_error("[]"), HasSubstr("expected '{'"));
  EXPECT_EQ(parse_error("{\"a\": 1,\n \"b\": }"),
            "config.json: not valid JSON: line 2, column 7: expected a value");
  EXPECT_THAT(parse_error(R"({"a": 1)"), HasSubstr("the text ends early, expected ',' or '}'"));
  EXPECT_THAT(parse_error(R"({"a": 1,})"), HasSubstr("expected a key"));
  EXPECT_THAT(parse_error(R"({"a" 1})"), HasSubstr("expected ':'"));
  EXPECT_THAT(parse_error(R"({"a": 01})"), HasSubstr("expected a number"));
  EXPECT_THAT(parse_error(R"({"a": 1} x)"), HasSubstr("expected nothing more"));
  EXPECT_THAT(parse_error("{\"a\": \"\xff\"}"), HasSubstr("not UTF-8"));
  EXPECT_THAT(parse_error(R"({"a": "\ud800"})"), HasSubstr("surrogate"));
  EXPECT_THAT(parse_error(R"({"a": "\q"})"), HasSubstr("unknown escape"));
  EXPECT_THAT(parse_error("{\"a\": \"\n\"}"), HasSubstr("control character"));
}

TEST(Config, BoundsItsMemory) {
  std::string deep = "{\"a\": ";
  deep.append(100000, '[');
  EXPECT_THAT(parse_error(deep), HasSubstr("nested more than 64 deep"));
  std::string many = "{\"a\": [0";
  for (int i = 0; i < 300000; ++i) many += ",0";
  EXPECT_THAT(parse_error(many + "]}"), HasSubstr("more than 262144 values"));
  EXPECT_THAT(parse_error(std::string((16 << 20) + 1, ' ')), HasSubstr("larger than 16 MiB"));
}

}  // namespace
}  // namespace memtape
