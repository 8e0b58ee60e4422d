// SPDX-License-Identifier: Apache-2.0
// The frame of the help texts, which the commands fill.
#pragma once

#include <string>
#include <string_view>

namespace memtape::cli {

/// Version, commands, an example.
inline constexpr std::string_view kOverview = R"(memtape {}: GPU memory, predicted to the byte

Usage: memtape COMMAND [options]

Commands:
{}
memtape COMMAND --help   its options and an example
memtape --version        the version

Example:
  {}

Exit codes: 0 fits or no device was named, 1 does not fit, 2 bad input, 3 internal error
)";

/// CLI11 sets two blank lines between groups and one more at the end.
inline std::string with_fewer_blank_lines(std::string text) {
  for (std::size_t at = 0; (at = text.find("\n\n\n", at)) != std::string::npos;) text.erase(at, 1);
  while (text.ends_with("\n\n")) text.pop_back();
  return text;
}

}  // namespace memtape::cli
