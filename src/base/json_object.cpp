// SPDX-License-Identifier: Apache-2.0
#include "base/json_object.h"

#include <fmt/format.h>

#include "base/json_reader.h"

namespace memtape {

JsonObject& JsonObject::add(std::string_view key, std::string_view text) {
  return add_json(key, json_quoted(text));
}

JsonObject& JsonObject::add(std::string_view key, double number) {
  return add_json(key, fmt::format("{}", number));
}

JsonObject& JsonObject::add(std::string_view key, std::span<const std::string> texts) {
  return add_json(key, json_list(texts));
}

JsonObject& JsonObject::add_whole(std::string_view key, std::int64_t number) {
  return add_json(key, fmt::format("{}", number));
}

JsonObject& JsonObject::add_json(std::string_view key, std::string_view json) {
  members_ += fmt::format("{}{}: {}", members_.empty() ? "" : ", ", json_quoted(key), json);
  return *this;
}

std::string json_list(std::span<const std::string> texts) {
  std::string list;
  for (const std::string& text : texts) {
    if (!list.empty()) list += ", ";
    list += json_quoted(text);
  }
  return "[" + list + "]";
}

}  // namespace memtape
