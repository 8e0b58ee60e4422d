// SPDX-License-Identifier: Apache-2.0
#include "report/command_lines.h"

#include <algorithm>

#include "report/style.h"

namespace memtape::report {
namespace {

/// The first word: up to a blank that is not in quotes.
std::string_view first_word(std::string_view text) {
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && !quoted)
      ++i;
    else if (text[i] == '\'')
      quoted = !quoted;
    else if (text[i] == ' ' && !quoted)
      return text.substr(0, i);
  }
  return text;
}

}  // namespace

std::vector<std::string> command_lines(std::string_view command, int width, int indent,
                                       int further) {
  std::vector<std::string> lines;
  std::string row(static_cast<std::size_t>(indent), ' ');
  bool is_empty = true;
  while (!command.empty()) {
    std::string_view word = first_word(command);
    // An option stays beside its value, where one line has room for both.
    if (word.starts_with("--") && word.size() < command.size()) {
      const std::string_view value = first_word(command.substr(word.size() + 1));
      const std::string_view both = command.substr(0, word.size() + 1 + value.size());
      if (!value.starts_with("--") && further + columns(both) + 2 <= width) word = both;
    }
    command.remove_prefix(std::min(command.size(), word.size() + 1));
    if (!is_empty && columns(row) + 1 + columns(word) + 2 > width) {
      lines.push_back(row + " \\");
      row.assign(static_cast<std::size_t>(further), ' ');
      is_empty = true;
    }
    row += is_empty ? "" : " ";
    row += word;
    is_empty = false;
  }
  lines.push_back(std::move(row));
  return lines;
}

}  // namespace memtape::report
