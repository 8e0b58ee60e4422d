// SPDX-License-Identifier: Apache-2.0
// Reads values that are JSON objects (a LoraConfig, a BitsAndBytesConfig) into a plain struct, by a
// table of the fields and of what each sets. An unknown field is an error that names the nearest
// one.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_reader.h"
#include "option/option.h"

namespace memtape::option {

template <class T>
struct JsonField {
  std::string_view name;
  void (*read)(JsonReader& json, T& into);
};

/// Reads null, or a list of texts.
void read_texts(JsonReader& json, std::vector<std::string>& into);

/// Reads a switch, a number or a list of texts as it is.
template <auto member, class T>
void put_json(JsonReader& json, T& into) {
  auto& value = into.*member;
  using Member = std::remove_reference_t<decltype(value)>;
  if constexpr (std::is_same_v<Member, double>)
    value = json.number().real;
  else if constexpr (std::is_same_v<Member, std::vector<std::string>>)
    read_texts(json, value);
  else
    value = json.boolean();
}

struct JsonSource {
  std::string_view option;            ///< "--peft"
  std::string_view config;            ///< "LoraConfig"
  std::string_view hint;              ///< an example of the whole value
  std::string_view passed_over = {};  ///< fields that change nothing, separated by spaces
  std::string_view empty_alone = {};  ///< fields that are modelled as long as they are empty
};

/// Reads a field that is in these two lists, or in none.
void read_other(JsonReader& json, const JsonSource& source, const std::string& name,
                std::vector<std::string_view> known);

template <class T, std::size_t n>
Result<void> read_json_fields(const std::string& text, const JsonSource& source,
                              const std::array<JsonField<T>, n>& fields, T& into) {
  JsonReader json(text);
  if (json.enter_object())
    while (const auto name = json.key()) {
      const auto field =
          std::find_if(fields.begin(), fields.end(), [&](auto& f) { return f.name == *name; });
      if (field != fields.end()) {
        field->read(json, into);
        continue;
      }
      std::vector<std::string_view> known;
      for (const JsonField<T>& one : fields) known.push_back(one.name);
      read_other(json, source, *name, std::move(known));
    }
  json.finish();
  if (json.failed())
    return bad_input(json.problem(), std::string(source.option), std::string(source.hint));
  return {};
}

}  // namespace memtape::option
