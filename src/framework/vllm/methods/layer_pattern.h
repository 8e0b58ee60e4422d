// SPDX-License-Identifier: Apache-2.0
// The patterns by which a quantized checkpoint names layers. After "re:" comes a regular
// expression, as in the ignore lists of compressed-tensors; it must match at the start of the name
// (Python's re.match). exclude_modules of ModelOpt has shell patterns with *, which must match the
// whole name (fnmatch). An expression that base/pattern.h does not read matches nothing.
#pragma once

#include <string_view>

namespace memtape::vllm {

/// Whether the expression matches at the start of `name`.
bool matches_expression(std::string_view expression, std::string_view name);
/// Whether the shell pattern matches all of `name`.
bool matches_shell_pattern(std::string_view pattern, std::string_view name);

}  // namespace memtape::vllm
