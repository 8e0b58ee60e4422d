// SPDX-License-Identifier: Apache-2.0
#include "command_line.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "commands/commands.h"
#include "completion.h"
#include "option_tables.h"

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
  for (const Command* command : commands())
    listed += fmt::format("  {:<22}{}\n", fmt::format("{} {}", command->name, command->usage),
                          command->summary);
  listed += fmt::format("  {:<22}{}\n", kLaunchCommand.name, kLaunchCommand.summary);
  return fmt::format(kOverview, MEMTAPE_VERSION, listed, commands().front()->example);
}

/// `memtape __complete WORDS...`: a candidate a line, and behind a tab what it is.
std::string completed(Arguments words) {
  std::string lines;
  for (const auto& [word, description] : candidates(words))
    lines += fmt::format("{}\t{}\n", word, description);
  return lines;
}

Error unknown_command(std::string_view typed) {
  if (typed.starts_with('-')) {
    return {ErrorKind::bad_input,
            fmt::format("unknown option {}", typed),
            {},
            "a command comes first; see memtape --help"};
  }
  std::vector<std::string_view> names;
  for (const Command* command : commands()) names.push_back(command->name);
  return {
      ErrorKind::bad_input, fmt::format("unknown command {}", typed), {}, suggestion(typed, names)};
}

int run_named(std::string_view name, Arguments arguments, Terminal& terminal) {
  for (const Command* command : commands())
    if (command->name == name) return run_command(*command, arguments, terminal);
  return terminal.fail(unknown_command(name));
}

/// What is printed without a command; nothing where one is meant.
std::optional<std::string> told_without_command(std::string_view first, Arguments rest) {
  if (first == "--help" || first == "-h" || first == "help") return overview();
  if (first == "__complete") return completed(rest);
  if (first == "__options") return option_tables();
  if (first == "--version") return "memtape " MEMTAPE_VERSION "\n";
  return std::nullopt;
}

}  // namespace

int run_command_line(Arguments arguments, Terminal& terminal) {
  constexpr std::array<const char*, 1> kHelp{"--help"};
  const std::string_view first = arguments.empty() ? "--help" : arguments.front();
  const Arguments rest = arguments.empty() ? arguments : arguments.subspan(1);
  // `memtape help train` is `memtape train --help`.
  if (first == "help" && !rest.empty()) return run_named(rest.front(), kHelp, terminal);
  const bool is_launch = std::ranges::find(arguments, std::string_view("--")) != arguments.end();
  if (first.starts_with('-') && first != "--help" && first != "-h" && is_launch)
    return run_command(kLaunchCommand, arguments, terminal);
  if (const std::optional<std::string> told = told_without_command(first, rest)) {
    terminal.print(*told);
    return ExitCode::fits;
  }
  return run_named(first, rest, terminal);
}

}  // namespace memtape::cli
