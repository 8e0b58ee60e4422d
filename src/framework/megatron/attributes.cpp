// SPDX-License-Identifier: Apache-2.0
#include "framework/megatron/attributes.h"

#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/json_reader.h"

namespace memtape::megatron {

void Attributes::number(std::string_view name, std::int64_t value) {
  set(name, fmt::format("{}", value));
}

void Attributes::truth(std::string_view name, bool value) { set(name, value ? "true" : "false"); }

void Attributes::text(std::string_view name, std::string_view value) {
  set(name, json_quoted(value));
}

void Attributes::texts(std::string_view name, const std::vector<std::string>& values) {
  std::vector<std::string> quoted;
  for (const std::string& value : values) quoted.push_back(json_quoted(value));
  set(name, fmt::format("[{}]", fmt::join(quoted, ", ")));
}

void Attributes::set(std::string_view name, std::string json) {
  values_.insert_or_assign(std::string(name), std::move(json));
}

void Attributes::set_all(const Attributes& others) {
  for (const auto& [name, json] : others.values_) set(name, json);
}

std::string Attributes::object() const {
  std::vector<std::string> lines;
  for (const auto& [name, json] : values_)
    lines.push_back(fmt::format("{}: {}", json_quoted(name), json));
  return fmt::format("{{{}}}", fmt::join(lines, ",\n"));
}

}  // namespace memtape::megatron
