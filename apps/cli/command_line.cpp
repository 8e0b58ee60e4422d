// SPDX-License-Identifier: Apache-2.0
#include "command_line.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "command_parsers.h"
#include "completion.h"
#include "options_page.h"

namespace memtape::cli {
namespace {

constexpr std::string_view kOverview = R"(memtape {}: GPU memory, predicted to the byte

Usage: memtape COMMAND [options]

Commands:
{}
memtape COMMAND --help   its options and an example
memtape --version        the version

Example:
  {}

Exit codes: 0 fits or no device was named, 1 does not fit, 2 bad input, 3 internal error
)";

std::string overview() {
  std::string listed;
  for (const Command& command : commands()) {
    const std::string usage = fmt::format("{} {}", command.name, command.operands);
    listed += fmt::format("  {:<22}{}\n", usage, command.summary);
  }
  listed += fmt::format("  {:<22}{}\n", kLaunch.name, kLaunch.summary);
  return fmt::format(kOverview, MEMTAPE_VERSION, listed, commands().front().example);
}

/// `memtape __complete WORDS...`: a candidate a line, and behind a tab what it is.
Message completed(Arguments words) {
  std::string lines;
  for (const auto& [word, description] : candidates(words))
    lines += fmt::format("{}\t{}\n", word, description);
  return {std::move(lines)};
}

Error unknown_command(std::string_view typed) {
  if (typed.starts_with('-')) {
    return {ErrorKind::bad_input,
            fmt::format("unknown option {}", typed),
            {},
            "a command comes first; see memtape --help"};
  }
  std::vector<std::string_view> names;
  for (const Command& command : commands()) names.push_back(command.name);
  return {
      ErrorKind::bad_input, fmt::format("unknown command {}", typed), {}, suggestion(typed, names)};
}

/// `memtape help train` is `memtape train --help`.
Result<Request> parse_after(std::string_view name, Arguments arguments) {
  for (const Command& command : commands())
    if (command.name == name) return parse_command(command, arguments);
  return tl::unexpected<Error>(unknown_command(name));
}

}  // namespace

Result<Request> parse_command_line(Arguments arguments) {
  constexpr std::array<const char*, 1> kHelp{"--help"};
  const std::string_view first = arguments.empty() ? "--help" : arguments.front();
  if (first == "help" && arguments.size() > 1) return parse_after(arguments[1], kHelp);
  if (first == "--help" || first == "-h" || first == "help") return Message{overview()};
  const auto dashes = std::ranges::find(arguments, std::string_view("--"));
  if (first.starts_with('-') && dashes != arguments.end())
    return parse_launch({arguments.begin(), dashes}, {dashes + 1, arguments.end()});
  if (first == "__complete") return completed(arguments.subspan(1));
  if (first == "__options") return Message{options_page()};
  if (first == "--version") return Message{"memtape " MEMTAPE_VERSION "\n"};
  return parse_after(first, arguments.subspan(1));
}

}  // namespace memtape::cli
