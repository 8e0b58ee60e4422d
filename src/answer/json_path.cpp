// SPDX-License-Identifier: Apache-2.0
#include "answer/json_path.h"

#include <algorithm>

#include "base/json_reader.h"
#include "base/typed_number.h"

namespace memtape::answer {
namespace {

bool enter_member(JsonReader& json, std::string_view name) {
  if (json.next() == JsonKind::object && json.enter_object())
    while (const auto key = json.key()) {
      if (*key == name) return true;
      json.skip();
    }
  return false;
}

bool enter_item(JsonReader& json, std::string_view number) {
  const std::optional<std::int64_t> index = whole_number(number);
  if (!index) return false;
  if (json.next() == JsonKind::array && json.enter_array())
    for (std::int64_t at = 0; json.item(); ++at) {
      if (at == *index) return true;
      json.skip();
    }
  return false;
}

/// Steps to the value that `path` names.
bool enter(JsonReader& json, std::string_view path) {
  while (!path.empty()) {
    const std::string_view step = path.substr(0, path.find('.'));
    path.remove_prefix(std::min(path.size(), step.size() + 1));
    const bool found =
        json.next() == JsonKind::array ? enter_item(json, step) : enter_member(json, step);
    if (!found) return false;
  }
  return true;
}

}  // namespace

std::optional<std::int64_t> integer_at(std::string_view text, std::string_view path) {
  JsonReader json(text);
  if (!enter(json, path) || json.next() != JsonKind::number) return std::nullopt;
  return json.number().integer;
}

std::optional<std::string> text_at(std::string_view text, std::string_view path) {
  JsonReader json(text);
  if (!enter(json, path) || json.next() != JsonKind::text) return std::nullopt;
  return json.text();
}

}  // namespace memtape::answer
