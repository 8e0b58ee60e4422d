// SPDX-License-Identifier: Apache-2.0
// re.fullmatch for the patterns that people write over names of modules: literals, `.`, classes in
// brackets, \d \w and escaped signs, groups, `|`, and `*`, `+`, `?` behind any of them. Python's
// greedy search order does not matter for a full match, so this is plain backtracking, with a limit
// on its steps.
#pragma once

#include <optional>
#include <string_view>

namespace memtape {

/// Whether all of `text` matches; nothing for a pattern that is written otherwise, or whose search
/// would not end.
std::optional<bool> full_match(std::string_view pattern, std::string_view text);

}  // namespace memtape
