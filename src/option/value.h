// SPDX-License-Identifier: Apache-2.0
// Values of options: reads text according to the kind of its option. A value that is not usable is
// an Error that names the option and says what would be right.
#pragma once

#include <optional>
#include <string>
#include <type_traits>
#include <variant>

#include "option/option.h"

namespace memtape::option {

/// std::monostate stands for the option's word that replaces a number ("none"). A choice is its
/// index.
using Value = std::variant<std::monostate, bool, std::int64_t, double, std::string>;

/// The error "unusable value", with what would be right. `name` has no dashes.
tl::unexpected<Error> unusable(std::string_view name, std::string_view value, std::string hint);

Result<Value> read(const Option& option, std::string_view text);

/// These read single values inside of others.
Result<bool> read_on_off(std::string_view name, std::string_view text);
Result<std::int64_t> read_whole(std::string_view name, std::string_view text, Whole range);
Result<double> read_real(std::string_view name, std::string_view text, Real range);
Result<std::size_t> read_choice(std::string_view name, std::string_view text,
                                std::span<const std::string_view> choices);

/// One value on its way into a plan: the name of its option, how it was typed, and what it says.
struct Said {
  const Option& option;
  std::string_view text;
  const Value& value;

  std::string_view name() const { return option.name(); }
  bool on() const { return std::get<bool>(value); }
  std::int64_t whole() const { return std::get<std::int64_t>(value); }
  double real() const { return std::get<double>(value); }
  /// For a choice whose names are in the order of the enumeration.
  template <class E>
  E as() const {
    return static_cast<E>(whole());
  }
};

template <class Plan>
using Setter = Result<void> (*)(const Said&, Plan&);

namespace detail {
template <class T>
struct Inner {
  using type = T;
  static constexpr bool is_optional = false;
};
template <class T>
struct Inner<std::optional<T>> {
  using type = T;
  static constexpr bool is_optional = true;
};

/// A text stays as it was typed, even if it is a choice.
template <class T>
void assign(const Said& said, T& into) {
  if constexpr (Inner<T>::is_optional) {
    if (std::holds_alternative<std::monostate>(said.value))
      into.reset();
    else
      assign(said, into.emplace());
  } else if constexpr (std::is_same_v<T, std::string>) {
    into = said.text;
  } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
    into.emplace_back(said.text);
  } else {
    std::visit(
        [&into](const auto& number) {
          if constexpr (std::is_arithmetic_v<std::remove_cvref_t<decltype(number)>>)
            into = static_cast<T>(number);
        },
        said.value);
  }
}

template <class Plan>
Plan& member_at(Plan& plan) {
  return plan;
}
/// A part that does not exist yet is made.
template <auto first, auto... rest, class Plan>
auto& member_at(Plan& plan) {
  auto& part = plan.*first;
  if constexpr (sizeof...(rest) == 0)
    return part;
  else if constexpr (Inner<std::remove_reference_t<decltype(part)>>::is_optional)
    return member_at<rest...>(part ? *part : part.emplace());
  else
    return member_at<rest...>(part);
}

template <class Member>
struct OwnerOf;
template <class Plan, class T>
struct OwnerOf<T Plan::*> {
  using type = Plan;
};
}  // namespace detail

/// A setter that writes the value to a member, or to a member of a member: put<&Recipe::layout,
/// &Layout::dp>.
template <auto first, auto... rest>
Result<void> put(const Said& said, typename detail::OwnerOf<decltype(first)>::type& plan) {
  detail::assign(said, detail::member_at<first, rest...>(plan));
  return {};
}

/// A setter that writes whether a choice is the one of that index.
template <std::int64_t index, auto first, auto... rest>
Result<void> put_is(const Said& said, typename detail::OwnerOf<decltype(first)>::type& plan) {
  const Value is = said.whole() == index;
  return put<first, rest...>({said.option, said.text, is}, plan);
}

}  // namespace memtape::option
