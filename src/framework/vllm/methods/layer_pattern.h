// SPDX-License-Identifier: Apache-2.0
// The patterns by which a quantized checkpoint names layers: regular expressions after "re:", as
// compressed-tensors' ignore lists have them (matched from the start of the name, Python's
// re.match), and shell patterns with * in ModelOpt's exclude_modules (the whole name, fnmatch).
// What base/pattern.h does not read matches nothing.
#pragma once

#include <string_view>

namespace memtape::vllm {

/// Whether the expression matches at the start of `name`.
bool matches_expression(std::string_view expression, std::string_view name);
/// Whether the shell pattern matches all of `name`.
bool matches_shell_pattern(std::string_view pattern, std::string_view name);

}  // namespace memtape::vllm
