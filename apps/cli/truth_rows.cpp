// SPDX-License-Identifier: Apache-2.0
#include "truth_rows.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/comma_list.h"
#include "release/package.h"

namespace memtape::cli {
namespace {

using RowJson = nlohmann::ordered_json;

void collect_numbers(const RowJson& object, const std::string& prefix, TruthRow& row) {
  for (const auto& [key, value] : object.items()) {
    if (value.is_object()) collect_numbers(value, prefix + key + ".", row);
    if (value.is_number_integer()) row.expect.emplace_back(prefix + key, value.get<std::int64_t>());
  }
}

/// "torch 2.11.0, transformers 5.17.0, sm80" as the value of --with.
std::string releases_of_stack(const std::string& stack) {
  std::string releases;
  for (const std::string& part : split_at_commas(stack)) {
    const std::size_t space = part.find(' ');
    if (space == std::string::npos || !find_package(part.substr(0, space)) ||
        !Version::parse(part.substr(space + 1)))
      continue;
    releases +=
        (releases.empty() ? "" : ",") + part.substr(0, space) + "==" + part.substr(space + 1);
  }
  return releases;
}

/// The releases that a row was recorded with are meant, unless its arguments say so themselves.
void add_releases(const RowJson& json, TruthRow& row) {
  if (!json.contains("stack") || !json["stack"].is_string()) return;
  const auto has = [&](const char* word) {
    return std::ranges::find(row.args, word) != row.args.end();
  };
  const std::string releases = releases_of_stack(json["stack"].get<std::string>());
  if (releases.empty() || row.args.empty() || row.args.front() != "train" || has("--with")) return;
  row.args.insert(row.args.end(), {"--with", releases});
}

/// The JSON text of a configuration that a row holds or names; "" without one, null where nothing
/// has that name.
std::optional<std::string> config_of(const RowJson& json, const char* key,
                                     const NamedConfigs& configs) {
  if (!json.contains(key)) return "";
  const RowJson& value = json[key];
  if (!value.is_string()) return value.is_object() ? value.dump() : "";
  const auto named = configs.find(value.get<std::string>());
  return named == configs.end() ? std::nullopt : std::optional(named->second);
}

/// What describes a file, in place of its first row.
bool is_head(const RowJson& json) {
  return json.is_object() && json.contains("demands") && !json.contains("id");
}

std::string_view next_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

/// False when the line is not a row.
bool read_row(const RowJson& json, const NamedConfigs& configs, TruthRow& row) {
  if (!json.is_object() || !json.contains("id") || !json["id"].is_string() ||
      !json.contains("args") || !json["args"].is_array() || !json.contains("expect") ||
      !json["expect"].is_object())
    return false;
  row.id = json["id"].get<std::string>();
  for (const RowJson& arg : json["args"]) {
    if (!arg.is_string()) return false;
    row.args.push_back(arg.get<std::string>());
  }
  add_releases(json, row);
  const std::optional<std::string> config = config_of(json, "config", configs);
  const std::optional<std::string> assistant = config_of(json, "assistant", configs);
  if (!config || !assistant) return false;
  row.config = *config;
  row.assistant = *assistant;
  if (json.contains("tape") && json["tape"].is_string()) row.tape = json["tape"].get<std::string>();
  collect_numbers(json["expect"], "", row);
  return true;
}

const RowJson* find(const RowJson& from, std::string_view path) {
  const RowJson* at = &from;
  while (!path.empty()) {
    const std::size_t dot = path.find('.');
    const std::string key(path.substr(0, dot));
    path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
    if (!at->is_object() || !at->contains(key)) return nullptr;
    at = &(*at)[key];
  }
  return at;
}

}  // namespace

std::string file_of_configs(std::string_view text) {
  const RowJson head = RowJson::parse(next_line(text), nullptr, false);
  const RowJson* file = is_head(head) ? find(head, "configs") : nullptr;
  return file && file->is_string() ? file->get<std::string>() : "";
}

Result<NamedConfigs> parse_configs(std::string_view text, const std::string& where) {
  NamedConfigs configs;
  for (int number = 1; !text.empty(); ++number) {
    const std::string_view line = next_line(text);
    if (is_blank(line)) continue;
    const RowJson json = RowJson::parse(line, nullptr, false);
    const RowJson *name = find(json, "name"), *config = find(json, "config");
    if (!name || !name->is_string() || !config || !config->is_object())
      return bad_input("not a named configuration", where + ":" + std::to_string(number),
                       "a JSON object with name and config");
    configs.insert_or_assign(name->get<std::string>(), config->dump());
  }
  return configs;
}

Result<std::vector<TruthRow>> parse_truth_rows(std::string_view text, const NamedConfigs& configs,
                                               const std::string& where) {
  std::vector<TruthRow> rows;
  for (int number = 1; !text.empty(); ++number) {
    const std::string_view line = next_line(text);
    if (is_blank(line)) continue;
    const RowJson json = RowJson::parse(line, nullptr, false);
    if (number == 1 && is_head(json)) continue;
    TruthRow row;
    if (!read_row(json, configs, row))
      return bad_input(
          "not a truth row", where + ":" + std::to_string(number),
          "a JSON object with id, args and expect, and config as an object or a known name");
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<std::optional<std::int64_t>> numbers_of(const std::string& answer_json,
                                                    const TruthRow& row) {
  const RowJson answer = RowJson::parse(answer_json, nullptr, false);
  const RowJson* ranks = find(answer, "ranks");
  const RowJson* rank = ranks && ranks->is_array() && !ranks->empty() ? &ranks->front() : nullptr;
  std::vector<std::optional<std::int64_t>> numbers;
  for (const auto& [path, measured] : row.expect) {
    std::optional<std::int64_t> number;
    for (const RowJson* place : {rank, &answer, find(answer, "model")}) {
      const RowJson* value = place && !number ? find(*place, path) : nullptr;
      if (value && value->is_number_integer()) number = value->get<std::int64_t>();
    }
    numbers.push_back(number);
  }
  return numbers;
}

}  // namespace memtape::cli
