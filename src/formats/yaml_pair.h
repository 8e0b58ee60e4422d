// SPDX-License-Identifier: Apache-2.0
// "name=value" of a command line whose values are YAML, as OmegaConf reads them.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "formats/yaml.h"

namespace memtape {

/// The value, with the name as its key. `program` names the command in errors, `hint` what it wants.
Result<YamlNode> read_yaml_pair(const std::string& word, std::string_view program,
                                std::string hint);

}  // namespace memtape
