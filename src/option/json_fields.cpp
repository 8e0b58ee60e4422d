// SPDX-License-Identifier: Apache-2.0
#include "option/json_fields.h"

#include "base/text.h"

namespace memtape::option {
namespace {

/// null, false, {} or []: as if it were not there.
bool says_nothing(JsonReader& json) {
  switch (json.next()) {
    case JsonKind::null: json.null(); return true;
    case JsonKind::boolean: return !json.boolean();
    case JsonKind::array: return json.enter_array() && !json.item();
    case JsonKind::object: return json.enter_object() && !json.key();
    default: json.skip(); return false;
  }
}

bool names(std::string_view words, std::string_view name) {
  return any_word(words, [&](std::string_view word) { return word == name; });
}

}  // namespace

void read_texts(JsonReader& json, std::vector<std::string>& into) {
  if (json.next() == JsonKind::null) return json.null();
  if (json.enter_array())
    while (json.item()) into.push_back(json.text());
}

void read_other(JsonReader& json, const JsonSource& source, const std::string& name,
                std::vector<std::string_view> known) {
  if (names(source.passed_over, name)) return json.skip();
  if (names(source.empty_alone, name)) {
    if (!says_nothing(json)) json.fail(name + " is not modelled");
    return;
  }
  for (const std::string_view words : {source.empty_alone, source.passed_over})
    each_word(words, [&](std::string_view word) { known.push_back(word); });
  json.fail(std::string(source.config) + " has no " + name + " (" + suggestion(name, known) + ")");
}

}  // namespace memtape::option
