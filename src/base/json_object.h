// SPDX-License-Identifier: Apache-2.0
// JsonObject: a JSON object as text on one line, built member by member.
//
//   JsonObject().add("r", 16).add("target_modules", words).text()
#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace memtape {

class JsonObject {
 public:
  JsonObject& add(std::string_view key, std::string_view text);
  JsonObject& add(std::string_view key, const char* text) {
    return add(key, std::string_view(text));
  }
  JsonObject& add(std::string_view key, std::same_as<bool> auto truth) {
    return add_json(key, truth ? "true" : "false");
  }
  JsonObject& add(std::string_view key, std::signed_integral auto number) {
    return add_whole(key, number);
  }
  JsonObject& add(std::string_view key, double number);
  JsonObject& add(std::string_view key, std::span<const std::string> texts);
  JsonObject& add(std::string_view key, const JsonObject& object) {
    return add_json(key, object.text());
  }
  /// Adds a value that is JSON already.
  JsonObject& add_json(std::string_view key, std::string_view json);

  std::string text() const { return "{" + members_ + "}"; }

 private:
  JsonObject& add_whole(std::string_view key, std::int64_t number);

  std::string members_;
};

/// A JSON list of texts.
std::string json_list(std::span<const std::string> texts);

}  // namespace memtape
