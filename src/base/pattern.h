// SPDX-License-Identifier: Apache-2.0
// The regular expressions that people write over the names of modules and tensors, as far as
// Python's re and C++'s std::regex read them alike: literals, `.`, classes in brackets, \d \w \s \b
// and escaped signs, groups, `|`, anchors, lookahead, and * + ? {m,n} behind any of them. Whether
// there is a match does not depend on the order of the search, so this is plain backtracking with a
// limit on its steps. Each function returns nothing if the expression uses anything else, or if the
// search exceeds the limit.
#pragma once

#include <optional>
#include <string_view>

namespace memtape {

/// Whether the expression matches all of `text` (re.fullmatch).
std::optional<bool> full_match(std::string_view expression, std::string_view text);
/// Whether the expression matches a beginning of `text` (re.match).
std::optional<bool> match_at_start(std::string_view expression, std::string_view text);
/// Whether the expression matches any part of `text` (re.search, std::regex_search).
std::optional<bool> search(std::string_view expression, std::string_view text);

}  // namespace memtape
