// SPDX-License-Identifier: Apache-2.0
// YAML, as launch configurations use it. libyaml reads it as PyYAML's safe_load does: anchors,
// aliases and merge keys (<<) are resolved, and each value keeps its line for messages. Depth and
// size are limited, because an alias may stand for any amount of text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace memtape {

struct YamlNode {
  enum class Kind : std::uint8_t { null, scalar, sequence, mapping };
  Kind kind = Kind::null;
  std::string key;   ///< set in a mapping
  std::string text;  ///< that of a scalar, as it is written
  bool quoted = false;
  int line = 0;
  std::vector<YamlNode> children;  ///< those of a sequence, or those of a mapping with their keys

  /// The member with that key; the last one, if there are several.
  const YamlNode* find(std::string_view name) const;
  /// Puts a value at "key.key", through mappings that are made where there are none.
  void set_at(std::string_view path, YamlNode value);
};

/// A scalar node that holds `text`.
YamlNode yaml_scalar(std::string text);

/// Reads all documents of a file, which is called `file` in errors ("FILE:LINE: what").
Result<std::vector<YamlNode>> read_yaml_documents(std::string_view text, std::string_view file);

/// Reads the first document, which must be a mapping. It reads JSON, too.
Result<YamlNode> read_yaml_mapping(std::string_view text, std::string_view file);

/// The value as JSON. Plain scalars become the types that YAML 1.1 gives them.
std::string to_json(const YamlNode& node);

/// A place in messages: "cfg.yaml:12".
std::string place_in(std::string_view file, int line);

}  // namespace memtape
