// SPDX-License-Identifier: Apache-2.0
#include "model/config.h"

#include <atomic>
#include <cmath>
#include <limits>
#include <utility>

#include "base/json_reader.h"
#include "base/text.h"

namespace memtape {

/// One JSON value. Objects keep the order of the file; of keys written twice the last counts, as in
/// Python.
struct Config::Value {
  JsonKind kind = JsonKind::null;
  bool truth = false;
  std::optional<std::int64_t> integer;
  double real = 0;
  std::string text;  ///< a string's characters, a number's spelling
  std::vector<std::string> names;
  std::vector<Value> items;
};

struct Config::Document {
  std::string where;
  Value root;
  std::optional<Error> error;
  /// Of `error`: ranks that run at once read one document.
  enum class Record : std::uint8_t { none, begun, done };
  std::atomic<Record> record = Record::none;
};

namespace {

constexpr std::size_t kLargestText = std::size_t{16} << 20;
constexpr std::size_t kMostValues = std::size_t{1} << 18;
constexpr std::int64_t kLargestDimension = (std::int64_t{1} << 31) - 1;
constexpr std::int64_t kMostLayers = 100'000;
constexpr std::size_t kLongestQuote = 60;
constexpr std::size_t kMostCandidates = 1000;

constexpr std::string_view kInteger = "an integer";
constexpr std::string_view kNumber = "a number";
constexpr std::string_view kBoolean = "true or false";
constexpr std::string_view kText = "a string";
constexpr std::string_view kObject = "an object";

std::string range_text(std::int64_t least, std::int64_t most) {
  return "an integer from " + std::to_string(least) + " to " + std::to_string(most);
}

std::string quoted_briefly(const std::string& json) {
  if (json.size() <= kLongestQuote) return json;
  std::size_t cut = kLongestQuote;
  while (cut > 0 && (static_cast<unsigned char>(json[cut]) & 0xC0u) == 0x80u)
    --cut;  // not within a character
  return json.substr(0, cut) + "...";
}

template <class Value>
void write_json(const Value& value, std::string& out) {
  switch (value.kind) {
    case JsonKind::boolean: out += value.truth ? "true" : "false"; return;
    case JsonKind::number:
      out += std::isfinite(value.real) ? value.text : json_quoted(value.text);
      return;
    case JsonKind::text: out += json_quoted(value.text); return;
    case JsonKind::array:
    case JsonKind::object: break;
    default: out += "null"; return;
  }
  const bool object = value.kind == JsonKind::object;
  out += object ? '{' : '[';
  for (std::size_t i = 0; i < value.items.size(); ++i) {
    if (i > 0) out += ", ";
    if (object) out += json_quoted(value.names[i]) + ": ";
    write_json(value.items[i], out);
  }
  out += object ? '}' : ']';
}

template <class Value>
std::string json_text(const Value& value) {
  std::string out;
  write_json(value, out);
  return out;
}

}  // namespace

Config::Config(std::shared_ptr<Document> document, const Value* value, std::string path)
    : document_(std::move(document)), value_(value), path_(std::move(path)) {}

bool Config::build(JsonReader& json, Value& value, std::size_t& budget) {
  if (budget-- == 0) return budget = 0, json.fail("more than 262144 values"), false;
  value.kind = json.next();
  switch (value.kind) {
    case JsonKind::null: json.null(); break;
    case JsonKind::boolean: value.truth = json.boolean(); break;
    case JsonKind::text: value.text = json.text(); break;
    case JsonKind::number: {
      const JsonNumber number = json.number();
      value.integer = number.integer;
      value.real = number.real;
      value.text = number.spelling;
      break;
    }
    case JsonKind::array:
      json.enter_array();
      while (json.item())
        if (!build(json, value.items.emplace_back(), budget)) return false;
      break;
    case JsonKind::object:
      json.enter_object();
      while (auto name = json.key()) {
        value.names.push_back(*std::move(name));
        if (!build(json, value.items.emplace_back(), budget)) return false;
      }
      break;
    case JsonKind::nothing: json.fail("expected a value"); break;
  }
  return !json.failed();
}

Result<Config> Config::parse(std::string_view text, std::string where) {
  if (text.size() > kLargestText)
    return bad_input("larger than 16 MiB", where, "a model's configuration is a few KiB");
  if (text.starts_with("\xEF\xBB\xBF"))  // transformers opens it as UTF-8, whose json refuses it
    return bad_input("begins with a byte order mark (BOM), which JSON does not have", where,
                     "save it as UTF-8 without BOM");
  auto document = std::make_shared<Document>();
  document->where = std::move(where);
  JsonReader json(text);
  if (json.next() != JsonKind::object) json.fail("expected '{'");
  std::size_t budget = kMostValues;
  if (build(json, document->root, budget)) json.finish();
  if (json.failed()) return bad_input("not valid JSON: " + json.problem(), document->where);
  const Value* root = &document->root;
  return Config(std::move(document), root, "");
}

Config Config::with_integer(std::string_view key, std::int64_t value) const {
  auto document = std::make_shared<Document>();
  document->where = document_->where;
  document->root = *value_;
  Value& integer = document->root.items.emplace_back();
  document->root.names.emplace_back(key);  // of a key that is there twice the last counts
  integer.kind = JsonKind::number;
  integer.integer = value;
  integer.real = static_cast<double>(value);
  integer.text = std::to_string(value);
  const Value* root = &document->root;
  return Config(std::move(document), root, path_);
}

Result<void> Config::check() const {
  document_->record.wait(Document::Record::begun);
  if (document_->record == Document::Record::done) return tl::unexpected<Error>(*document_->error);
  return {};
}

void Config::fail(std::string_view key, std::string what) const {
  auto none = Document::Record::none;
  if (!document_->record.compare_exchange_strong(none, Document::Record::begun)) return;
  document_->error = Error{ErrorKind::bad_input, std::move(what),
                           document_->where + ": " + path_ + std::string(key), ""};
  document_->record = Document::Record::done;
  document_->record.notify_all();
}

void Config::missing(std::string_view key, std::string_view wanted) const {
  std::vector<std::string_view> present;
  for (const std::string& name : value_->names)
    if (name.size() <= kLongestQuote && present.size() < kMostCandidates) present.push_back(name);
  const std::string_view near = nearest(key, present);
  const std::string found = near.empty() ? "" : ", found " + std::string(near);
  fail(key, "missing, must be " + std::string(wanted) + found);
}

void Config::wrong(const Found& found, std::string_view wanted) const {
  const Value& value = *found.value;
  const std::string written = value.kind == JsonKind::number ? value.text : json_text(value);
  fail(found.key, "must be " + std::string(wanted) + ", found " + quoted_briefly(written));
}

Config::Found Config::find(Keys keys) const {
  for (const std::string_view key : keys)
    for (std::size_t i = value_->names.size(); i-- > 0;)
      if (value_->names[i] == key) return {key, &value_->items[i]};
  return {*keys.begin(), nullptr};
}

std::int64_t Config::whole(const Found& found, std::string_view wanted) const {
  if (found.value == nullptr) return missing(found.key, wanted), 0;
  if (found.value->kind != JsonKind::number || !found.value->integer)
    return wrong(found, wanted), 0;
  return *found.value->integer;
}

std::int64_t Config::within(const Found& found, std::int64_t least, std::int64_t most) const {
  const std::string wanted = range_text(least, most);
  if (found.value == nullptr) return missing(found.key, wanted), 1;
  const bool whole = found.value->kind == JsonKind::number && found.value->integer;
  if (!whole || *found.value->integer < least || *found.value->integer > most)
    return wrong(found, wanted), 1;
  return *found.value->integer;
}

double Config::real(const Found& found) const {
  if (found.value == nullptr) return missing(found.key, kNumber), 0;
  const bool finite = std::abs(found.value->real) <= std::numeric_limits<double>::max();
  if (found.value->kind != JsonKind::number || !finite) return wrong(found, kNumber), 0;
  return found.value->real;
}

bool Config::truth(const Found& found) const {
  if (found.value == nullptr) return missing(found.key, kBoolean), false;
  if (found.value->kind != JsonKind::boolean) return wrong(found, kBoolean), false;
  return found.value->truth;
}

std::string Config::string(const Found& found) const {
  if (found.value == nullptr) return missing(found.key, kText), "";
  if (found.value->kind != JsonKind::text) return wrong(found, kText), "";
  return found.value->text;
}

bool Config::has(Keys keys) const { return find(keys).value != nullptr; }

bool Config::is_null(Keys keys) const {
  const Found found = find(keys);
  return found.value == nullptr || found.value->kind == JsonKind::null;
}

std::int64_t Config::dimension(Keys keys) const { return within(find(keys), 1, kLargestDimension); }
std::int64_t Config::dimension(Keys keys, std::int64_t otherwise) const {
  return has(keys) ? dimension(keys) : otherwise;
}

std::int64_t Config::count(Keys keys, std::int64_t otherwise) const {
  return has(keys) ? within(find(keys), 0, kLargestDimension) : otherwise;
}

std::int64_t Config::layers(Keys keys) const { return within(find(keys), 1, kMostLayers); }
std::int64_t Config::layers(Keys keys, std::int64_t otherwise) const {
  return has(keys) ? layers(keys) : otherwise;
}

std::int64_t Config::integer(Keys keys) const { return whole(find(keys), kInteger); }
std::int64_t Config::integer(Keys keys, std::int64_t otherwise) const {
  return has(keys) ? integer(keys) : otherwise;
}

double Config::number(Keys keys) const { return real(find(keys)); }
double Config::number(Keys keys, double otherwise) const {
  return has(keys) ? number(keys) : otherwise;
}

bool Config::boolean(Keys keys) const { return truth(find(keys)); }
bool Config::boolean(Keys keys, bool otherwise) const {
  return has(keys) ? boolean(keys) : otherwise;
}

std::string Config::text(Keys keys) const { return string(find(keys)); }
std::string Config::text(Keys keys, std::string_view otherwise) const {
  return has(keys) ? text(keys) : std::string(otherwise);
}

std::optional<std::int64_t> Config::optional_dimension(Keys keys) const {
  return is_null(keys) ? std::nullopt : std::optional(dimension(keys));
}
std::optional<std::int64_t> Config::optional_integer(Keys keys) const {
  return is_null(keys) ? std::nullopt : std::optional(integer(keys));
}
std::optional<double> Config::optional_number(Keys keys) const {
  return is_null(keys) ? std::nullopt : std::optional(number(keys));
}
std::optional<std::string> Config::optional_text(Keys keys) const {
  return is_null(keys) ? std::nullopt : std::optional(text(keys));
}

Config Config::object(Keys keys) const {
  static const Value kEmpty{JsonKind::object, false, std::nullopt, 0, "", {}, {}};
  const Found found = find(keys);
  std::string path = path_ + std::string(found.key) + ".";
  if (is_null(keys)) return {document_, &kEmpty, std::move(path)};
  if (found.value->kind == JsonKind::object) return {document_, found.value, std::move(path)};
  wrong(found, kObject);
  return {document_, &kEmpty, std::move(path)};
}

std::vector<std::string> Config::texts(Keys keys) const {
  const Found found = find(keys);
  std::vector<std::string> all;
  if (is_null(keys)) return all;
  if (found.value->kind != JsonKind::array) return wrong(found, "a list of strings"), all;
  for (const Value& item : found.value->items) {
    if (item.kind != JsonKind::text) return wrong(found, "a list of strings"), all;
    all.push_back(item.text);
  }
  return all;
}

std::vector<std::int64_t> Config::integers(Keys keys) const {
  const Found found = find(keys);
  std::vector<std::int64_t> all;
  if (is_null(keys)) return all;
  if (found.value->kind != JsonKind::array) return wrong(found, "a list of integers"), all;
  for (const Value& item : found.value->items) {
    if (item.kind != JsonKind::number || !item.integer)
      return wrong(found, "a list of integers"), all;
    all.push_back(*item.integer);
  }
  return all;
}

std::vector<Config> Config::objects(Keys keys) const {
  const Found found = find(keys);
  std::vector<Config> all;
  if (is_null(keys)) return all;
  if (found.value->kind != JsonKind::array) return wrong(found, "a list of objects"), all;
  for (const Value& item : found.value->items) {
    if (item.kind != JsonKind::object) return wrong(found, "a list of objects"), all;
    all.push_back(Config(document_, &item,
                         path_ + std::string(found.key) + "[" + std::to_string(all.size()) + "]."));
  }
  return all;
}

std::vector<std::string> Config::keys() const { return value_->names; }

std::string Config::json(Keys keys) const {
  const Found found = find(keys);
  return found.value == nullptr ? "null" : json_text(*found.value);
}

std::string Config::json() const { return json_text(*value_); }

const std::string& Config::where() const { return document_->where; }

}  // namespace memtape
