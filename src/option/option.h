// SPDX-License-Identifier: Apache-2.0
// Option: what can be said to a command, declared once, as data. The tables of options are the
// source of everything else: reading the words of a command line, ranges, "did you mean", --help,
// docs/options.md, the schema for programs, the completions in shells, and the names in Python.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "option/given.h"

namespace memtape::option {

/// These say how a value is typed, and which values there are.
struct Text {};   ///< anything
struct OnOff {};  ///< true, yes, 1 or no value; false, no or 0
enum class Unit : std::uint8_t { none, tokens, bytes };  ///< none, 8k tokens, or 24GiB
struct Whole {
  std::int64_t least = 1, most = (std::int64_t{1} << 31) - 1;
  Unit unit = Unit::none;
};
struct Real {
  double least = 0.0, most = 1e30;
};
struct Choice {
  std::span<const std::string_view> names;
};
using Kind = std::variant<Text, OnOff, Whole, Real, Choice>;

/// The commands that also take an option of `train`.
enum Commands : std::uint8_t { kTrainAlone = 0, kOfPlan = 1, kOfLaunch = 2, kAll = 3 };

/// Where the help shows an option, and the upstream file or API that it mirrors, which has it by the
/// option's own name if no other is said. A table may say that for all of its rows; "": memtape's.
struct Group {
  std::string_view name, source;

  constexpr Group(std::string_view shown = {}, std::string_view mirrors = {})
      : name(shown), source(mirrors) {}
  constexpr Group(const char* shown) : name(shown) {}
  constexpr Group of(std::string_view mirrors) const { return {name, mirrors}; }
};

struct Option {
  std::string_view spellings;  ///< "--ctx-size -c": the first is its name; '-' and '_' are the same
  /// The form of the value: "N"; "" for a switch; "[N]" if it may be left out.
  std::string_view form = {};
  /// One line, without the default. "{}" stands for the choices, and "" keeps it out of the help.
  std::string_view help = {};
  Group group = {};
  Kind kind = {};
  /// What holds if nobody says it, shown in parentheses after the help.
  std::string_view default_text = {};
  std::string_view word = {};  ///< replaces a number: "none", "all"
  /// The options that it decides, such as "--precision"; both must say the same.
  std::string_view sets = {};
  /// Words that people type for it, though they are not its names: "--bs --mbs"
  std::string_view meant = {};
  /// Whether its value says the same as the others (option/agreement.h). If it is null, the values
  /// are compared.
  using Agrees = bool (*)(std::string_view value, std::span<const NamedValue> given);
  Agrees agrees = nullptr;
  Commands commands = kAll;
  /// If it is given twice, both count; for other options that is a mistake.
  bool repeatable = false;

  /// The first spelling without its dashes: "ctx-size".
  constexpr std::string_view name() const {
    const std::string_view first = spellings.substr(0, spellings.find(' '));
    return first.substr(first.find_first_not_of('-'));
  }
  bool is_spelled(std::string_view word) const;
  bool is_switch() const { return form.empty(); }
  bool needs_value() const { return !form.empty() && form.front() != '['; }
  /// It stands before what calls it: a constant's initialiser can only use a template whose body
  /// was read before.
  template <class T>
  constexpr Option with(T Option::* member, T value) const {
    Option made = *this;
    made.*member = value;
    return made;
  }
  constexpr Option people_say(std::string_view words) const { return with(&Option::meant, words); }
  constexpr Option or_word(std::string_view other) const { return with(&Option::word, other); }
  constexpr Option by_default(std::string_view text) const {
    return with(&Option::default_text, text);
  }
  constexpr Option decides(std::string_view others) const { return with(&Option::sets, others); }
  constexpr Option taken_by(Commands of) const { return with(&Option::commands, of); }
  constexpr Option adds_up() const { return with(&Option::repeatable, true); }

  /// The values to choose from: those of its kind, or of a form like "{linux,first-fit}".
  std::vector<std::string> choices() const;
  /// Whether nothing else may be said: a form with "..." has more than it lists.
  bool has_only_choices() const { return !choices().empty() && form.find("...") == form.npos; }
  /// The help with the choices in their place.
  std::string help_text() const;
  /// The line of help, with the default.
  std::string help_line() const;
};

/// The options that are taken at one place, in the order of the help.
using Table = std::vector<const Option*>;

template <class Row>
void add(std::span<const Row> rows, Table& table) {
  for (const Row& row : rows) table.push_back(&row);
}
template <class Rows>
Table table_of(const Rows& rows) {
  Table table;
  for (const auto& row : rows) table.push_back(&row);
  return table;
}

/// Calls `use` with each word of a list that is separated by spaces, until `use` returns true.
template <class F>
bool any_word(std::string_view words, F&& use) {
  while (!words.empty()) {
    const std::string_view word = words.substr(0, words.find(' '));
    if (use(word)) return true;
    words.remove_prefix(words.size() == word.size() ? word.size() : word.size() + 1);
  }
  return false;
}

/// Calls `use` with each word of such a list.
template <class F>
void each_word(std::string_view words, F&& use) {
  any_word(words, [&use](std::string_view word) {
    use(word);
    return false;
  });
}

/// Whether a list of spellings, such as "--seed --run_name", contains that name.
bool lists(std::string_view spellings, std::string_view name);

bool is_same_name(std::string_view a, std::string_view b);  ///< '-' and '_' are the same

/// The option with that spelling, including its dashes, or else the one whose name differs only in
/// '-' and '_'. It is null if there is none.
const Option* find(const Table& table, std::string_view typed);
/// The option with that first name, without dashes, or null.
const Option* named(const Table& table, std::string_view name);

/// "did you mean --micro-batch-size?" for a word that is no option. It looks for what people mean
/// by the word, and then for similar spellings. It is "" if nothing is near.
std::string near_option(const Table& table, std::string_view typed);

}  // namespace memtape::option
