// SPDX-License-Identifier: Apache-2.0
// YAML as PyYAML's safe_load reads it, with lines.
#include "formats/yaml.h"

#include <gmock/gmock.h>

#include "formats/settings.h"

namespace memtape {
namespace {

std::string json_of_yaml(const std::string& text) {
  const Result<YamlNode> node = read_yaml_mapping(text, "f.yaml");
  return node ? to_json(*node) : node.error().line();
}

TEST(Yaml, plain_scalars_are_what_yaml_takes_them_for) {
  EXPECT_EQ(json_of_yaml("a: yes\nb: 'yes'\nc: 12\nd: 1.5\ne: ~\nf: text"),
            R"({"a": true, "b": "yes", "c": 12, "d": 1.5, "e": null, "f": "text"})");
}

TEST(Yaml, sequences_and_mappings_nest) {
  EXPECT_EQ(json_of_yaml("a: [q, v]\nb:\n  - c: 1\n    d: {e: no}\n"),
            R"({"a": ["q", "v"], "b": [{"c": 1, "d": {"e": false}}]})");
}

TEST(Yaml, json_is_read_too) {
  EXPECT_EQ(json_of_yaml("{\"a\": [1, 2],\n\t\"b\": null}"), R"({"a": [1, 2], "b": null})");
}

TEST(Yaml, merge_keys_give_way_to_what_stands_there) {
  EXPECT_EQ(json_of_yaml("base: &b {x: 1, y: 2}\nuse:\n  <<: *b\n  y: 3\n"),
            R"({"base": {"x": 1, "y": 2}, "use": {"y": 3, "x": 1}})");
}

TEST(Yaml, members_keep_their_lines) {
  const Result<YamlNode> node = read_yaml_mapping("a: 1\n\nb:\n  c: 2\n", "f.yaml");
  ASSERT_TRUE(node.has_value());
  EXPECT_EQ(node->find("b")->line, 3);
  EXPECT_EQ(node->find("b")->find("c")->line, 4);
}

TEST(Yaml, documents_follow_each_other) {
  const auto documents = read_yaml_documents("a: 1\n---\nb: 2\n", "f.yaml");
  ASSERT_TRUE(documents.has_value());
  ASSERT_EQ(documents->size(), 2U);
  EXPECT_EQ(to_json((*documents)[1]), R"({"b": 2})");
}

TEST(Yaml, mistakes_name_file_and_line) {
  EXPECT_EQ(json_of_yaml("a: 1\nb: [1\nc: 2\n"), "f.yaml:3: did not find expected ',' or ']'");
  EXPECT_EQ(json_of_yaml("a: *x\n"), "f.yaml:1: unknown alias *x");
  EXPECT_EQ(json_of_yaml(""), "f.yaml:1: holds no settings (name: value, line by line)");
}

TEST(Settings, the_last_value_counts_and_null_is_none) {
  Result<Settings> settings = read_settings("a: 1\na: 2\nb: null\n", "f.yaml");
  ASSERT_TRUE(settings.has_value());
  EXPECT_EQ(settings->whole("a"), 2);
  EXPECT_EQ(settings->find("b"), nullptr);
  EXPECT_FALSE(settings->failure().has_value());
}

TEST(Settings, all_values_that_will_not_do_are_told) {
  Result<Settings> settings = read_settings("a: x\nb: maybe\n", "f.yaml");
  ASSERT_TRUE(settings.has_value());
  settings->whole("a");
  settings->on("b");
  ASSERT_TRUE(settings->failure().has_value());
  EXPECT_EQ(settings->failure()->line(),
            "2 faults: f.yaml:1: a: unusable value \"x\" (a whole number); "
            "f.yaml:2: b: unusable value \"maybe\" (true or false)");
}

}  // namespace
}  // namespace memtape
