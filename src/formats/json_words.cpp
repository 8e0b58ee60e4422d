// SPDX-License-Identifier: Apache-2.0
#include "formats/json_words.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/json_reader.h"
#include "base/typed_number.h"

namespace memtape {
namespace {

/// A number, true, false, a list or an object as it is; else a text.
std::string as_json(const std::string& value) {
  if (value == "true" || value == "True") return "true";
  if (value == "false" || value == "False") return "false";
  if (!value.empty() && (value.front() == '[' || value.front() == '{')) return value;
  return real_number(value) ? value : json_quoted(value);
}

/// A field joins the object that `--group` has so far among the opened words, or begins one.
void add_field(std::vector<std::string>& opened, const std::string& group,
               const std::string& field) {
  const auto at = std::ranges::find(opened, group);
  if (at == opened.end() || at + 1 == opened.end() || !(at + 1)->ends_with('}')) {
    opened.push_back(group);
    opened.push_back(fmt::format("{{{}}}", field));
    return;
  }
  std::string& object = *(at + 1);
  object.pop_back();
  object += (object == "{" ? "" : ", ") + field + "}";
}

}  // namespace

std::vector<std::string> with_dots_opened(const std::vector<std::string>& words) {
  std::vector<std::string> opened;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const std::size_t dot = word.find('.'), equals = word.find('=');
    const bool attached = equals != std::string::npos;
    if (!word.starts_with("-") || dot == std::string::npos || (attached && dot > equals) ||
        (!attached && i + 1 == words.size())) {
      opened.push_back(word);
      continue;
    }
    const std::string field = word.substr(dot + 1, attached ? equals - dot - 1 : word.npos);
    const std::string value = attached ? word.substr(equals + 1) : words[++i];
    add_field(opened, word.substr(0, dot),
              fmt::format("{}: {}", json_quoted(field), as_json(value)));
  }
  return opened;
}

}  // namespace memtape
