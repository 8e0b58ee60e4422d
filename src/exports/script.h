// SPDX-License-Identifier: Apache-2.0
// Script: a start script in bash. launch/start_script can read it back.
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

  /// Begins the command; its words follow.
  void start(std::string_view program);
  /// Adds a flag with its value on a line of its own. Both are quoted if necessary.
  void flag(std::string_view name, std::string_view value);
  void flag(std::string_view name);
  /// Adds a value in which the shell fills in variables: "$HERE/strategy.json".
  void flag_filled(std::string_view name, std::string_view value);
  void word(std::string_view text);
  void word_filled(std::string_view text);

  /// The command on one line, with DIR for the folder of the files.
  std::string command() const;
  /// The whole script; the command ends with "$@".
  std::string text() &&;

 private:
  void add_line(std::string text);

  std::string head_;
  std::vector<std::string> lines_;
};

}  // namespace memtape::exports
