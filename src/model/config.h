// SPDX-License-Identifier: Apache-2.0
// Config: a model's config.json, read the way transformers reads it into a dataclass: typed, with
// the class's defaults.
//
//   LlamaConfig(const Config& c)
//       : vocab_size(c.dimension("vocab_size", 32000)),
//         hidden_size(c.dimension({"hidden_size", "n_embd"}, 4096)),
//         head_dim(c.optional_integer("head_dim").value_or(hidden_size / num_attention_heads)) {}
//
// Nothing throws: the first value that is missing, of the wrong type or out of range is remembered,
// the accessor answers with something harmless (1 for a dimension), and `check()` tells the caller
// once, after all keys have been read:
//   "config.json: num_attention_heads: must be an integer of 1 or more, found 0".
// Nested objects share the record of their root. Where a list of names is given, the first one
// present counts (transformers' attribute_map). As in Python, null is a value of its own: only
// optional_* and object take it for absent.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace memtape {

/// One key, or at most four alternative names of one key. They are views, and the text must outlive
/// the call.
class Keys {
 public:
  // NOLINTBEGIN(google-explicit-constructor): a key is written as "hidden_size" or {"hidden_size",
  // "n_embd"}
  Keys(const char* name) : names_{name} {}
  Keys(std::string_view name) : names_{name} {}
  Keys(const std::string& name) : names_{name} {}
  Keys(const char* first, const char* second) : names_{first, second}, count_(2) {}
  Keys(const char* first, const char* second, const char* third)
      : names_{first, second, third}, count_(3) {}
  Keys(const char* first, const char* second, const char* third, const char* fourth)
      : names_{first, second, third, fourth}, count_(4) {}
  // NOLINTEND(google-explicit-constructor)

  const std::string_view* begin() const { return names_.data(); }
  const std::string_view* end() const { return begin() + count_; }

 private:
  std::array<std::string_view, 4> names_;
  std::size_t count_ = 1;
};

class Config {
 public:
  /// Reads a JSON object of at most 16 MiB of text and 262,144 values. `where` is the file's name
  /// in messages.
  static Result<Config> parse(std::string_view json, std::string where);

  /// A copy in which `key` is this integer. It has its own record of failures.
  Config with_integer(std::string_view key, std::int64_t value) const;

  /// The first failure so far, if there is any. Call it when all keys have been read.
  Result<void> check() const;
  /// Records a failure that the caller has found. `what` completes "config.json: key: ".
  void fail(std::string_view key, std::string what) const;

  bool has(Keys keys) const;      ///< the key is present, even if its value is null
  bool is_null(Keys keys) const;  ///< the key is absent, or its value is null

  /// A size: an integer from 1 to 2^31 - 1.
  std::int64_t dimension(Keys keys) const;
  std::int64_t dimension(Keys keys, std::int64_t otherwise) const;
  /// A number of things, from 0 to 2^31 - 1.
  std::int64_t count(Keys keys, std::int64_t otherwise) const;
  /// A number of layers, from 1 to 100,000.
  std::int64_t layers(Keys keys) const;
  std::int64_t layers(Keys keys, std::int64_t otherwise) const;

  std::int64_t integer(Keys keys) const;
  std::int64_t integer(Keys keys, std::int64_t otherwise) const;
  double number(Keys keys) const;
  double number(Keys keys, double otherwise) const;
  bool boolean(Keys keys) const;
  bool boolean(Keys keys, bool otherwise) const;
  std::string text(Keys keys) const;
  std::string text(Keys keys, std::string_view otherwise) const;

  /// Nothing, if the key is absent or null.
  std::optional<std::int64_t> optional_dimension(Keys keys) const;
  std::optional<std::int64_t> optional_integer(Keys keys) const;
  std::optional<double> optional_number(Keys keys) const;
  std::optional<std::string> optional_text(Keys keys) const;

  /// The nested object. It is empty if the key is absent or null.
  Config object(Keys keys) const;

  /// The items of a list. There are none if the key is absent or null.
  std::vector<std::string> texts(Keys keys) const;
  std::vector<std::int64_t> integers(Keys keys) const;
  std::vector<Config> objects(Keys keys) const;

  /// All keys in the order of the file.
  std::vector<std::string> keys() const;
  /// The value as JSON on one line, or "null" if it is absent. NaN and infinities, which JSON
  /// lacks, become strings.
  std::string json(Keys keys) const;
  /// This whole object as JSON, in the same way.
  std::string json() const;
  /// The name of the file that was given to `parse`.
  const std::string& where() const;

 private:
  struct Value;
  struct Document;
  struct Found {
    std::string_view key;
    const Value* value;  ///< a null pointer if the value is absent
  };

  Config(std::shared_ptr<Document> document, const Value* value, std::string path);
  static bool build(class JsonReader& json, Value& value, std::size_t& budget);

  Found find(Keys keys) const;
  void missing(std::string_view key, std::string_view wanted) const;
  void wrong(const Found& found, std::string_view wanted) const;
  std::int64_t whole(const Found& found, std::string_view wanted) const;
  std::int64_t within(const Found& found, std::int64_t least, std::int64_t most) const;
  double real(const Found& found) const;
  bool truth(const Found& found) const;
  std::string string(const Found& found) const;

  std::shared_ptr<Document> document_;
  const Value* value_;
  std::string path_;  ///< the path from the root: "text_config."
};

}  // namespace memtape
