// SPDX-License-Identifier: Apache-2.0
// TOML, as torchtitan's configurations use it. toml++ reads it into the same tree as YAML, so that
// every value keeps its line for messages.
#pragma once

#include <string_view>

#include "base/result.h"
#include "formats/yaml.h"

namespace memtape {

/// Reads a whole document, which is a mapping of its tables. `file` is its name in errors
/// ("FILE:LINE: what").
Result<YamlNode> read_toml(std::string_view text, std::string_view file);

}  // namespace memtape
