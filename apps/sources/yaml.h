// SPDX-License-Identifier: Apache-2.0
// YAML files of others, read with libyaml: documents of scalars, sequences and mappings, merge keys
// (<<) seen through. An error names the file and the line.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

struct yaml_document_s;
struct yaml_node_s;

namespace memtape::sources {

/// A node of a document that lives at least as long; "nothing" where there is none.
class YamlNode {
 public:
  YamlNode() = default;
  YamlNode(yaml_document_s* document, yaml_node_s* node) : document_(document), node_(node) {}

  explicit operator bool() const { return node_ != nullptr; }
  bool is_map() const;
  bool is_list() const;
  /// The text of a scalar; nothing for other nodes and for null.
  std::optional<std::string> text() const;
  std::size_t line() const;

  /// The value of a key, also of a mapping that is merged in; nothing when there is none.
  YamlNode get(std::string_view key) const;
  std::vector<YamlNode> items() const;
  /// Keys that are scalars with their values, without what is merged in.
  std::vector<std::pair<std::string, YamlNode>> members() const;
  /// The same with what is merged in; a key's own value goes before.
  std::vector<std::pair<std::string, YamlNode>> all_members() const;

 private:
  YamlNode merged(int depth, std::string_view key) const;
  void add_members(std::vector<std::pair<std::string, YamlNode>>& into, int depth) const;

  yaml_document_s* document_ = nullptr;
  yaml_node_s* node_ = nullptr;
};

class YamlFile {
 public:
  static Result<YamlFile> parse(const std::string& text, const std::string& where);

  const std::vector<YamlNode>& roots() const { return roots_; }

 private:
  struct Free {
    void operator()(yaml_document_s* document) const;
  };
  std::vector<std::unique_ptr<yaml_document_s, Free>> documents_;
  std::vector<YamlNode> roots_;
};

}  // namespace memtape::sources
