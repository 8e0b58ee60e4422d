// SPDX-License-Identifier: Apache-2.0
// Arguments of Python programs that parse them into dataclasses (transformers' HfArgumentParser):
// `--name value`, `--name=value`, dashes for underscores, prefixes that only one name has, a switch
// without a value, `--no_name` for one that is on by default, several words for a list.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "formats/settings.h"

namespace memtape::launch {

struct PythonProgram {
  std::string_view name;                            ///< in errors
  std::span<const std::string_view> names;          ///< every field of its dataclasses
  std::span<const std::string_view> on_by_default;  ///< those that --no_NAME turns off
};

/// What the words set; a name that is not the program's is an Error that names the nearest.
Result<Settings> read_python_arguments(std::span<const std::string> words,
                                       const PythonProgram& program);

}  // namespace memtape::launch
