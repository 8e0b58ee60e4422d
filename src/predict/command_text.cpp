// SPDX-License-Identifier: Apache-2.0
#include "predict/command_text.h"

namespace memtape {

std::string shell_word(std::string_view word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:@%^";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos)
    return std::string(word);
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'')
      quoted += "'\\''";
    else
      quoted += c;
  }
  return quoted + "'";
}

std::string options_text(std::span<const NamedValue> options) {
  std::string text;
  for (const auto& [name, value] : options) {
    text += (text.empty() ? "--" : " --") + name;
    // After an = the word can begin with dashes, too.
    if (value.starts_with('-'))
      text += "=" + shell_word(value);
    else if (!value.empty())
      text += " " + shell_word(value);
  }
  return text;
}

std::string command_text(const CommandWords& command, std::span<const NamedValue> options) {
  std::string text;
  const auto add = [&text](const std::string& part) {
    if (!part.empty()) text += (text.empty() ? "" : " ") + part;
  };
  for (const std::string& word : command.head) add(shell_word(word));
  add(options_text(options));
  for (const std::string& word : command.tail) add(shell_word(word));
  return text;
}

}  // namespace memtape
