// SPDX-License-Identifier: Apache-2.0
// TOML as torchtitan's configurations hold it, read by toml++ into the tree that YAML is read into,
// so that every value keeps its line for the user.
#pragma once

#include <string_view>

#include "base/result.h"
#include "formats/yaml.h"

namespace memtape {

/// A whole document: a mapping of its tables. `file` is its name in errors ("FILE:LINE: what").
Result<YamlNode> read_toml(std::string_view text, std::string_view file);

}  // namespace memtape
