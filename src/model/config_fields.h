// SPDX-License-Identifier: Apache-2.0
// Fields: a table by which a JSON object is read into a plain struct. A row says by which names a
// field may be given and what it sets. The member's initializer is its value if the field is not
// given. A key that no row has is an error that names the nearest one. A framework's own options
// (--strategy, a ds_config) are read in this way. The upstream file that has the names is said
// above each table.
//
//   constexpr auto kFields = std::to_array<ConfigField<Options>>({
//       {"static_graph", fields::put<&Options::static_graph>},
//       {"sharding_strategy", fields::pick<&Options::sharding_strategy, kStrategies>},
//       {"device_ids check_reduction"},  // they change nothing
//   });
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/dtype.h"
#include "base/result.h"
#include "model/config.h"
#include "option/option.h"

namespace memtape {

template <class T>
struct ConfigField {
  std::string_view names;  ///< with spaces between them; the first one that is given counts
  /// It is called if the field is given. If it is null, the field changes nothing.
  Result<void> (*read)(const Config& object, std::string_view name, T& into) = nullptr;
};

/// An error if a key is in none of the lists of names. `place` names the object in errors.
Result<void> check_keys(const Config& object, const std::string& place,
                        const std::vector<std::string_view>& lists);

/// Reads the fields that are given, in the order of the table. The object records values of the
/// wrong type (`Config::check`).
template <class T, std::size_t n>
Result<void> read_fields(const Config& object, const std::string& place,
                         const std::array<ConfigField<T>, n>& table, T& into) {
  std::vector<std::string_view> lists;
  for (const ConfigField<T>& field : table) lists.push_back(field.names);
  if (Result<void> known = check_keys(object, place, lists); !known) return known;
  for (const ConfigField<T>& field : table) {
    Result<void> fine;
    if (field.read)
      option::any_word(field.names, [&](std::string_view name) {
        if (!object.has(name)) return false;
        fine = field.read(object, name, into);
        return true;
      });
    if (!fine) return fine;
  }
  return {};
}

/// Reads a whole object that was given as text. `place` is the option in errors.
template <class T, std::size_t n>
Result<void> read_object(std::string_view json, const std::string& place,
                         const std::array<ConfigField<T>, n>& table, T& into) {
  const Result<Config> object = Config::parse(json, place);
  if (!object) return tl::unexpected(object.error());
  if (Result<void> fine = read_fields(*object, place, table, into); !fine) return fine;
  return object->check();
}

/// An error for the first of the fields that says more than null, false, {} or []. They are modelled
/// as long as they say nothing.
Result<void> check_silent(const Config& object, std::string_view names);

/// What words stand for. `other` is what an error says of any other word ("unknown plan"); if it is
/// "", the error says that the word is not modelled.
template <class E>
struct NamedChoice {
  std::string_view name;
  E value;
};
template <class E, std::size_t n>
struct NamedChoices {
  std::string_view other;
  std::array<NamedChoice<E>, n> all;
};
template <class E, std::size_t n>
constexpr NamedChoices<E, n> choices(std::string_view other, const NamedChoice<E> (&all)[n]) {
  return {other, std::to_array(all)};
}

/// The error for a word that is not among the choices.
tl::unexpected<Error> no_choice(std::string_view other, const std::string& word, std::string place,
                                const std::vector<std::string_view>& names);

template <class E, std::size_t n>
Result<E> choose(const NamedChoices<E, n>& choices, const std::string& word, std::string place) {
  std::vector<std::string_view> names;
  for (const NamedChoice<E>& choice : choices.all) {
    if (choice.name == word) return choice.value;
    names.push_back(choice.name);
  }
  return no_choice(choices.other, word, std::move(place), names);
}

/// "bf16", "fp32", "fp16", or the names that torch prints ("bfloat16", "torch.bfloat16").
Result<DType> named_dtype(const std::string& word, std::string place);

/// What a row does with a field that is given.
namespace fields {

inline std::string place_of(const Config& object, std::string_view name) {
  return object.where() + ": " + std::string(name);
}

/// A member, or a member of a member.
template <auto first, auto... rest, class T>
auto& member_of(T& into) {
  if constexpr (sizeof...(rest) == 0)
    return into.*first;
  else
    return member_of<rest...>(into.*first);
}

/// Sets a member according to its type. A whole number may have any value.
template <auto... path, class T>
Result<void> put(const Config& object, std::string_view name, T& into) {
  auto& value = member_of<path...>(into);
  using Member = std::remove_reference_t<decltype(value)>;
  if constexpr (std::is_same_v<Member, bool>)
    value = object.boolean(name);
  else if constexpr (std::is_same_v<Member, std::int64_t>)
    value = object.integer(name);
  else if constexpr (std::is_same_v<Member, double>)
    value = object.number(name);
  else if constexpr (std::is_same_v<Member, std::string>)
    value = object.text(name);
  else if constexpr (std::is_same_v<Member, std::vector<std::string>>)
    value = object.texts(name);
  else if constexpr (std::is_same_v<Member, std::vector<std::int64_t>>)
    value = object.integers(name);
  else if constexpr (std::is_same_v<Member, std::optional<bool>>)
    value = object.boolean(name);
  else if constexpr (std::is_same_v<Member, std::optional<double>>)
    value = object.optional_number(name);
  else if constexpr (std::is_same_v<Member, std::optional<std::string>>)
    value = object.optional_text(name);
  else {
    static_assert(std::is_same_v<Member, std::optional<DType>> || std::is_same_v<Member, DType>,
                  "no field of this type is read");
    const std::optional<std::string> word = object.optional_text(name);
    if (!word) return {};
    const Result<DType> dtype = named_dtype(*word, place_of(object, name));
    if (!dtype) return tl::unexpected(dtype.error());
    value = *dtype;
  }
  return {};
}

/// Sets a size of 1 or more. A null leaves an optional member as it is.
template <auto... path, class T>
Result<void> put_size(const Config& object, std::string_view name, T& into) {
  auto& value = member_of<path...>(into);
  constexpr bool is_optional = requires { value.reset(); };
  if (!is_optional || !object.is_null(name)) value = object.dimension(name);
  return {};
}

/// Sets a number of things, which is 0 or more.
template <auto... path, class T>
Result<void> put_count(const Config& object, std::string_view name, T& into) {
  member_of<path...>(into) = object.count(name, 0);
  return {};
}

/// The field is modelled as long as it says nothing.
template <class T>
Result<void> refuse(const Config& object, std::string_view name, T&) {
  return check_silent(object, name);
}

/// Sets what one of the words of `choices` stands for. A null leaves an optional member as it is.
template <auto member, const auto& choices, class T>
Result<void> pick(const Config& object, std::string_view name, T& into) {
  constexpr bool is_optional = requires { (into.*member).reset(); };
  if (is_optional && object.is_null(name)) return {};
  const std::string word = object.text(name);
  if (Result<void> fine = object.check(); !fine) return fine;
  const auto chosen = choose(choices, word, place_of(object, name));
  if (!chosen) return tl::unexpected(chosen.error());
  into.*member = *chosen;
  return {};
}

/// Reads an object that has fields of its own.
template <auto member, const auto& table, class T>
Result<void> put_object(const Config& object, std::string_view name, T& into) {
  return read_fields(object.object(name), place_of(object, name), table, into.*member);
}

}  // namespace fields
}  // namespace memtape
