// SPDX-License-Identifier: Apache-2.0
// Reads the words of one command against the table of its options. It is the one reader behind the
// command line, the library, MCP and HTTP.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "option/given.h"
#include "option/option.h"

namespace memtape::option {

/// Words as a shell passes them.
using Arguments = std::span<const char* const>;

struct Operand {
  std::string_view name;  ///< "MODEL"
  std::string_view help = {};
  bool is_required = true;
  bool is_many = false;
  /// Words that people type for it, as if it were an option: "--model -m"
  std::string_view meant = {};
};

/// Options that the help shows under a heading of their own, after the others.
struct Section {
  std::string heading;
  Table table;
};

/// What a command takes.
struct Syntax {
  std::string_view command = {};  ///< "plan train"
  std::vector<Operand> operands = {};
  Table table = {};
  std::string_view summary = {}, example = {};  ///< for the help
  std::vector<Section> sections = {};           ///< of the help alone
  bool takes_tail = false;                      ///< what follows a -- belongs to another program
  bool takes_empty = true;                      ///< false: an empty word is no value
  /// A switch may be followed by its value, "--switch false", as Python's parsers allow.
  bool truths_follow = false;
  std::string_view too_many = {};  ///< what would be right where an argument is one too many
  /// What a word may be that is no option: an error, or nothing.
  std::function<std::optional<Error>(std::string_view typed)> unknown = {};
};

/// An option as it was typed.
struct Typed {
  const Option* option;
  std::string value;  ///< "true" for a switch, "" if the value was left out
};

struct Words {
  std::vector<std::string> operands;
  std::vector<Typed> typed;       ///< in the order in which they were typed
  std::vector<std::string> tail;  ///< the words after the --
  Table table;                    ///< the table against which they were read
  bool asks_help = false;

  bool has(std::string_view name) const { return find(name) != nullptr; }
  /// The last value that was typed for it, or null.
  const std::string* find(std::string_view name) const;
  std::string text(std::string_view name, std::string_view otherwise = {}) const;
  /// The last value that was typed for it, or else its default, as the help shows it.
  std::string text_or_default(std::string_view name) const;
  /// The same as a number. It is nothing if the default is no number.
  std::optional<std::int64_t> whole(std::string_view name) const;
  std::string operand(std::size_t index = 0) const;
};

/// An error for a value that its option does not take. It checks the options in `own`.
Result<void> check_values(const Words& words, std::span<const Option> own);

/// "-h --help", for commands that people type.
extern const Option kHelp;

Result<Words> read_words(const Syntax& syntax, Arguments arguments);

/// An option as a program gives it: by its name, with - or _, and with a value that is a text, a
/// list, a truth value or nothing.
struct GivenValue {
  std::string name;
  std::vector<std::string> texts = {};
  std::optional<bool> truth = {};
  bool is_list = false, is_absent = false;
};

/// The same, from values instead of words.
Result<Words> read_values(const Syntax& syntax, std::vector<std::string> operands,
                          std::span<const GivenValue> given);

/// The words with which one would say the same in a shell.
std::vector<std::string> as_arguments(const Words& words);

/// A mistake in the words: "train: MODEL is required (see memtape train --help)".
Error mistake(const Syntax& syntax, std::string what, std::string hint = {});

/// What the words say, in the order of the table. An option occurs once, unless its values add up.
NamedValues in_table_order(const Words& words, const Table& table);

}  // namespace memtape::option
