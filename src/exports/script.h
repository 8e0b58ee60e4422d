// SPDX-License-Identifier: Apache-2.0
// Script: a start script in bash, as launch/start_script reads it back.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace memtape::exports {

class Script {
 public:
  explicit Script(std::string_view comment);

  void comment(std::string_view text);
  void set_variable(std::string_view name, std::string_view value);
  void unset_variable(std::string_view name);

  /// Begins the command; words follow.
  void start(std::string_view program);
  /// A flag with its value on a line of its own, both quoted where they must be.
  void flag(std::string_view name, std::string_view value);
  void flag(std::string_view name);
  /// Text in which the shell fills variables in: "$HERE/strategy.json".
  void flag_filled(std::string_view name, std::string_view value);
  void word(std::string_view text);
  void word_filled(std::string_view text);

  /// With "$@" behind the last word.
  std::string text() &&;

 private:
  void add_line(std::string text);

  std::string head_;
  std::vector<std::string> lines_;
};

}  // namespace memtape::exports
