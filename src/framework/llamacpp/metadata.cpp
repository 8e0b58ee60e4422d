// SPDX-License-Identifier: Apache-2.0
#include "framework/llamacpp/metadata.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "base/json_reader.h"

namespace memtape::llamacpp {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();

void read_item(JsonReader& json, MetaValue& array) {
  if (json.next() == JsonKind::number) {
    const JsonNumber number = json.number();
    array.integers.push_back(number.integer.value_or(0));
  } else if (json.next() == JsonKind::boolean) {
    array.integers.push_back(json.boolean() ? 1 : 0);
  } else {
    json.skip();
  }
  array.length = array.length.value_or(0) + 1;
}

MetaValue read_value(JsonReader& json) {
  MetaValue value;
  switch (json.next()) {
    case JsonKind::number: {
      const JsonNumber number = json.number();
      value.integer = number.integer;
      value.number = number.integer ? static_cast<double>(*number.integer) : number.real;
      break;
    }
    case JsonKind::boolean: value.integer = json.boolean() ? 1 : 0; break;
    case JsonKind::text: value.text = json.text(); break;
    case JsonKind::array:
      value.length = 0;
      if (json.enter_array())
        while (json.item()) read_item(json, value);
      break;
    case JsonKind::object:
      if (json.enter_object())
        while (const auto key = json.key()) {
          if (*key == "value")
            value = read_value(json);
          else
            json.skip();
        }
      break;
    default: json.skip();
  }
  return value;
}

}  // namespace

const MetaValue* Metadata::find(std::string_view key) const {
  const auto at = values.find(key);
  return at == values.end() ? nullptr : &at->second;
}

std::optional<std::int64_t> Metadata::integer(std::string_view key) const {
  const MetaValue* value = find(key);
  return value ? value->integer : std::nullopt;
}

std::string Metadata::text(std::string_view key) const {
  const MetaValue* value = find(key);
  return value && value->text ? *value->text : std::string();
}

Result<Metadata> Metadata::parse(const Config& config) {
  Metadata metadata;
  metadata.where = config.where();
  const Config pairs = config.object("metadata");
  for (const std::string& key : pairs.keys()) {
    const std::string text = pairs.json(key);
    JsonReader json(text);
    metadata.values.emplace(key, read_value(json));
    if (json.failed()) return bad_input(json.problem(), metadata.where + ": " + key);
  }
  if (const auto count = config.optional_integer("tensor_count"))
    metadata.values["tensor_count"].integer = *count;
  return metadata;
}

const MetaValue* KeyReader::find(std::string_view key) const {
  return metadata_.find(prefix_ + std::string(key));
}

void KeyReader::fail(std::string_view key, std::string what) {
  if (!problem_)
    problem_ = Error{ErrorKind::bad_input,
                     prefix_ + std::string(key) + ": " + std::move(what),
                     metadata_.where,
                     {}};
}

std::int64_t KeyReader::within(std::string_view key, std::int64_t value, std::int64_t least) {
  if (value >= least && value <= kMost) return value;
  fail(key, fmt::format("must be an integer of {} or more, found {}", least, value));
  return least;
}

std::int64_t KeyReader::dimension(std::string_view key) {
  const MetaValue* value = find(key);
  if (value && value->integer) return within(key, *value->integer, 1);
  fail(key, value ? "must be an integer" : "is missing");
  return 1;
}

std::int64_t KeyReader::dimension(std::string_view key, std::int64_t otherwise) {
  return has(key) ? dimension(key) : otherwise;
}

std::int64_t KeyReader::count(std::string_view key, std::int64_t otherwise) {
  const MetaValue* value = find(key);
  if (!value) return otherwise;
  if (value->integer) return within(key, *value->integer, 0);
  fail(key, "must be an integer");
  return otherwise;
}

double KeyReader::number(std::string_view key, double otherwise) {
  const MetaValue* value = find(key);
  if (!value) return otherwise;
  if (!value->number) fail(key, "must be a number");
  return value->number.value_or(otherwise);
}

std::string KeyReader::text(std::string_view key, std::string_view otherwise) const {
  const MetaValue* value = find(key);
  return value && value->text ? *value->text : std::string(otherwise);
}

std::vector<std::int64_t> KeyReader::per_layer(std::string_view key, std::int64_t layers,
                                               std::int64_t otherwise) {
  const MetaValue* value = find(key);
  const auto size = static_cast<std::size_t>(layers);
  if (!value || !value->length)
    return std::vector<std::int64_t>(size, value ? count(key, otherwise) : otherwise);
  std::vector<std::int64_t> found = value->integers;
  if (found.size() < size)
    fail(key, fmt::format("must have {} items, found {}", size, found.size()));
  found.resize(size);
  for (std::int64_t& item : found) item = within(key, item, 0);
  return found;
}

std::vector<std::int64_t> KeyReader::array(std::string_view key) const {
  const MetaValue* value = find(key);
  return value ? value->integers : std::vector<std::int64_t>();
}

Result<void> KeyReader::check() const {
  if (problem_) return tl::unexpected(*problem_);
  return {};
}

}  // namespace memtape::llamacpp
