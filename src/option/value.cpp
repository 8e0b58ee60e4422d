// SPDX-License-Identifier: Apache-2.0
#include "option/value.h"

#include <array>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

#include "base/letter_case.h"
#include "base/text.h"
#include "base/typed_number.h"

namespace memtape::option {
namespace {

/// Whether people need not hear of the upper bound: it is there for arithmetic.
bool is_open(Whole range) {
  return range.most == Whole{}.most || range.most >= std::int64_t{1} << 40;
}

std::string whole_hint(Whole range) {
  if (range.unit == Unit::bytes) return "a whole number of bytes, or a size like 24GiB or 80GB";
  return is_open(range) ? fmt::format("a whole number of {} or more", range.least)
                        : fmt::format("a whole number from {} to {}", range.least, range.most);
}

/// Digits alone: a number that is too large is one all the same.
bool is_whole(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

std::optional<std::int64_t> typed(std::string_view text, Unit unit) {
  if (const auto n = unit == Unit::bytes    ? typed_bytes(text)
                     : unit == Unit::tokens ? typed_tokens(text)
                                            : std::nullopt)
    return n;
  return whole_number(text);
}

template <class T>
Result<Value> as_value(const Result<T>& read) {
  if (!read) return tl::unexpected(read.error());
  return Value(*read);
}

}  // namespace

tl::unexpected<Error> unusable(std::string_view name, std::string_view value, std::string hint) {
  return bad_input(fmt::format("unusable value \"{}\"", value), fmt::format("--{}", name),
                   std::move(hint));
}

Result<bool> read_on_off(std::string_view name, std::string_view text) {
  const std::string value = lower_case(std::string(text));
  for (const std::string_view yes : {"", "true", "yes", "1"})
    if (value == yes) return true;
  for (const std::string_view no : {"false", "no", "0"})
    if (value == no) return false;
  return unusable(name, text, "true or false");
}

Result<std::int64_t> read_whole(std::string_view name, std::string_view text, Whole range) {
  const std::optional<std::int64_t> n = typed(text, range.unit);
  if (n && *n >= range.least && *n <= range.most) return *n;
  if (is_open(range) && (n ? *n > range.most : is_whole(text)))
    return unusable(name, text, fmt::format("at most {}", range.most));
  return unusable(name, text, whole_hint(range));
}

Result<double> read_real(std::string_view name, std::string_view text, Real range) {
  const std::string digits(text);
  char* end = nullptr;
  const double x = std::strtod(digits.c_str(), &end);
  if (!digits.empty() && *end == '\0' && std::isfinite(x) && x >= range.least && x <= range.most)
    return x;
  return unusable(name, text,
                  range.most < Real{}.most
                      ? fmt::format("a number from {} to {}", range.least, range.most)
                      : fmt::format("a number of {} or more", range.least));
}

Result<std::size_t> read_choice(std::string_view name, std::string_view text,
                                std::span<const std::string_view> choices) {
  for (std::size_t i = 0; i < choices.size(); ++i)
    if (choices[i] == text) return i;
  return unusable(name, text, suggestion(text, choices));
}

Result<Value> read(const Option& option, std::string_view text) {
  if (!option.word.empty() && lower_case(std::string(text)) == lower_case(std::string(option.word)))
    return Value();
  const std::string_view name = option.name();
  struct Reading {
    std::string_view name, text;
    Result<Value> operator()(Text) const { return Value(std::string(text)); }
    Result<Value> operator()(OnOff) const { return as_value(read_on_off(name, text)); }
    Result<Value> operator()(Whole range) const { return as_value(read_whole(name, text, range)); }
    Result<Value> operator()(Real range) const { return as_value(read_real(name, text, range)); }
    Result<Value> operator()(Choice choice) const {
      const Result<std::size_t> index = read_choice(name, text, choice.names);
      if (!index) return tl::unexpected(index.error());
      return Value(static_cast<std::int64_t>(*index));
    }
  };
  Result<Value> value = std::visit(Reading{name, text}, option.kind);
  if (!value && !option.word.empty()) value.error().hint += fmt::format(", or {}", option.word);
  return value;
}

}  // namespace memtape::option
