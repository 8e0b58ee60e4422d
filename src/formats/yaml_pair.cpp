// SPDX-License-Identifier: Apache-2.0
#include "formats/yaml_pair.h"

#include <fmt/format.h>

namespace memtape {

Result<YamlNode> read_yaml_pair(const std::string& word, std::string_view program,
                                std::string hint) {
  const std::size_t equals = word.find('=');
  if (equals == std::string::npos)
    return bad_input(fmt::format("unexpected word {}", word), std::string(program),
                     std::move(hint));
  Result<YamlNode> mapping = read_yaml_mapping("v: " + word.substr(equals + 1), word);
  if (!mapping) return tl::unexpected(mapping.error());
  YamlNode value = std::move(mapping->children.front());
  value.key = word.substr(0, equals);
  return value;
}

}  // namespace memtape
