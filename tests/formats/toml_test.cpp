// SPDX-License-Identifier: Apache-2.0
// TOML in the tree that YAML is read into, with lines.
#include "formats/toml.h"

#include <gmock/gmock.h>

namespace memtape {
namespace {

std::string json_of_toml(const std::string& text) {
  const Result<YamlNode> node = read_toml(text, "f.toml");
  return node ? to_json(*node) : node.error().line();
}

std::string key_of_dots(int dots) {
  std::string key = "a";
  for (int i = 0; i < dots; ++i) key += ".a";
  return key;
}

TEST(Toml, tables_and_values_keep_their_lines) {
  const auto document = read_toml("[model]\nname = \"llama3\"\n", "f.toml");
  ASSERT_TRUE(document);
  const YamlNode* model = document->find("model");
  ASSERT_NE(model, nullptr);
  EXPECT_EQ(model->find("name")->text, "llama3");
  EXPECT_EQ(model->find("name")->line, 2);
}

TEST(Toml, dotted_keys_nest) {
  EXPECT_EQ(json_of_toml("a.b = 1\na.\"c d\" = [0.5, true]\n"),
            R"({"a": {"b": 1, "c d": [0.5, true]}})");
}

TEST(Toml, letters_beyond_ascii_are_no_keys) {
  EXPECT_THAT(json_of_toml("a = 1\n\u00e9 = 1\n"), testing::StartsWith("f.toml:2: "));
  EXPECT_THAT(json_of_toml("a = 1 \u00e9\n"), testing::StartsWith("f.toml:1: "));
  EXPECT_EQ(json_of_toml("\"\u00e9\" = \"\u0416\"\n"), "{\"\u00e9\": \"\u0416\"}");
}

TEST(Toml, a_key_without_end_is_refused_at_its_line) {
  EXPECT_EQ(json_of_toml("\n" + key_of_dots(200000) + " = 1\n"),
            "f.toml:2: a key of over 1000 dots (a TOML document)");
  EXPECT_EQ(json_of_toml("\n[" + key_of_dots(200000) + "]\n"),
            "f.toml:2: a key of over 1000 dots (a TOML document)");
}

TEST(Toml, a_thousand_dots_are_read) {
  EXPECT_TRUE(read_toml(key_of_dots(1000) + " = 1\n", "f.toml"));
  std::string floats = "x = [0.5";
  for (int i = 0; i < 5000; ++i) floats += ", 0.5";
  EXPECT_TRUE(read_toml(floats + "]\n", "f.toml"));
}

}  // namespace
}  // namespace memtape
