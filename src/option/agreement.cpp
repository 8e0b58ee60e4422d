// SPDX-License-Identifier: Apache-2.0
#include "option/agreement.h"

#include <algorithm>

#include "option/value.h"

namespace memtape::option {
namespace {

std::string as_typed(const NamedValue& given) {
  return "--" + given.first + (given.second.empty() ? "" : " " + given.second);
}

/// A number by what it is: nothing is 0, a switch that is on is anything but the first choice.
std::optional<double> number(const Value& value) {
  if (const auto* on = std::get_if<bool>(&value)) return *on ? 1.0 : 0.0;
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  if (const auto* real = std::get_if<double>(&value)) return *real;
  return std::holds_alternative<std::monostate>(value) ? std::optional(0.0) : std::nullopt;
}

/// Texts are never laid side by side; what cannot be read is refused by itself.
bool say_the_same(const Option& a, const NamedValue& of_a, const Option& b,
                  const NamedValue& of_b) {
  const Result<Value> x = read(a, of_a.second), y = read(b, of_b.second);
  if (!x || !y) return true;
  const std::optional<double> m = number(*x), n = number(*y);
  const bool is_switch = std::holds_alternative<bool>(*x) || std::holds_alternative<bool>(*y);
  if (!m || !n) return false;
  return is_switch ? (*m != 0.0) == (*n != 0.0) : *m == *n;
}

}  // namespace

Result<void> agree(const Table& table, std::span<const NamedValue> given) {
  for (const NamedValue& theirs : given) {
    const Option* option = named(table, theirs.first);
    if (!option || option->sets.empty()) continue;
    for (const NamedValue& own : given) {
      if (!lists(option->sets, own.first)) continue;
      const Option* common = named(table, own.first);
      const bool same = option->agrees ? option->agrees(theirs.second, given)
                                       : common && say_the_same(*common, own, *option, theirs);
      if (!same)
        return bad_input("sets what " + as_typed(theirs) + " sets to another value", as_typed(own),
                         "leave out one of them");
    }
  }
  return {};
}

NamedValues with_changes(const Table& table, NamedValues given,
                         std::span<const NamedValue> changes) {
  const auto replaces = [&](const NamedValue& change, const NamedValue& old) {
    if (change.first == old.first) return true;
    const Option *a = named(table, change.first), *b = named(table, old.first);
    return (a && lists(a->sets, old.first)) || (b && lists(b->sets, change.first));
  };
  for (const NamedValue& change : changes) {
    std::erase_if(given, [&](const NamedValue& old) {
      return std::ranges::find(changes, old) == changes.end() && replaces(change, old);
    });
    if (std::ranges::find(given, change) == given.end()) given.push_back(change);
  }
  return given;
}

}  // namespace memtape::option
