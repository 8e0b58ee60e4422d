// SPDX-License-Identifier: Apache-2.0
#include "exports/script.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "formats/shell.h"

namespace memtape::exports {

Script::Script(std::string_view comment)
    : head_(fmt::format("#!/usr/bin/env bash\n# {}\nset -e\nHERE=\"$(dirname \"$0\")\"\n",
                        comment)) {}

void Script::comment(std::string_view text) { head_ += fmt::format("# {}\n", text); }

void Script::set_variable(std::string_view name, std::string_view value) {
  head_ += fmt::format("export {}={}\n", name, shell_quoted(value));
}

void Script::unset_variable(std::string_view name) { head_ += fmt::format("unset {}\n", name); }

void Script::start(std::string_view program) { lines_ = {std::string(program)}; }

void Script::add_line(std::string text) { lines_.push_back(std::move(text)); }

void Script::flag(std::string_view name, std::string_view value) {
  add_line(fmt::format("{} {}", name, shell_quoted(value)));
}

void Script::flag(std::string_view name) { add_line(std::string(name)); }

void Script::flag_filled(std::string_view name, std::string_view value) {
  add_line(fmt::format("{} \"{}\"", name, value));
}

void Script::word(std::string_view text) { add_line(shell_quoted(text)); }

void Script::word_filled(std::string_view text) { add_line(fmt::format("\"{}\"", text)); }

std::string Script::command() const {
  std::string line = fmt::format("{}", fmt::join(lines_, " "));
  constexpr std::string_view kHere = "$HERE";
  for (std::size_t at = line.find(kHere); at != line.npos; at = line.find(kHere, at))
    line.replace(at, kHere.size(), "DIR");
  return line;
}

std::string Script::text() && {
  add_line("\"$@\"");
  return fmt::format("{}\n{}\n", head_, fmt::join(lines_, " \\\n  "));
}

}  // namespace memtape::exports
