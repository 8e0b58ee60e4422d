// SPDX-License-Identifier: Apache-2.0
// YAML as launch configurations hold it, read by libyaml as PyYAML's safe_load reads it: anchors,
// aliases and merge keys (<<) are resolved, and each value keeps its line for the user. Depth and
// size are limited, since an alias may stand for as much as the file likes.
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
  std::string key;   ///< in a mapping
  std::string text;  ///< of a scalar, as written
  bool quoted = false;
  int line = 0;
  std::vector<YamlNode> children;  ///< of a sequence; of a mapping, each with its key

  /// The member of that key; of several, the last.
  const YamlNode* find(std::string_view name) const;
};

/// All documents of a file that is called `file` in errors ("FILE:LINE: what").
Result<std::vector<YamlNode>> read_yaml_documents(std::string_view text, std::string_view file);

/// The first document, which must be a mapping. JSON is read, too.
Result<YamlNode> read_yaml_mapping(std::string_view text, std::string_view file);

/// The value as JSON; plain scalars become what YAML 1.1 takes them for.
std::string to_json(const YamlNode& node);

/// "cfg.yaml:12"
std::string place_in(std::string_view file, int line);

}  // namespace memtape
