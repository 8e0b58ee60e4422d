// SPDX-License-Identifier: Apache-2.0
// JsonReader: JSON as a walk through the text, value by value, so that what is kept (and how much
// memory it takes) is the caller's choice: a config becomes a small tree, a safetensors header goes
// straight into a tensor list.
//
// The grammar is RFC 8259 plus what Python's json module also reads and writes (NaN, Infinity,
// -Infinity), because config.json files are written by Python. Text must be UTF-8. Nesting is
// limited, numbers keep their spelling. The first problem is kept and ends the walk: afterwards
// loops over keys and items stop, and values read as empty.
//
//   JsonReader json(text);
//   if (json.enter_object())
//     while (auto key = json.key()) *key == "size" ? use(json.number()) : json.skip();
//   json.finish();
//   if (json.failed()) complain(json.problem());
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace memtape {

enum class JsonKind : std::uint8_t { null, boolean, number, text, array, object, nothing };

/// A number as it was written. `integer` holds it when it is a whole number without point or
/// exponent that fits 64 bits.
struct JsonNumber {
  std::string_view spelling = "0";
  std::optional<std::int64_t> integer;
  double real = 0;
};

class JsonReader {
 public:
  /// `text` must outlive the reader.
  explicit JsonReader(std::string_view text) : text_(text) {}

  /// The kind of the value that comes next; `nothing` where no value can start.
  JsonKind next();

  /// The next value, which must be of that kind.
  void null();
  bool boolean();
  JsonNumber number();
  std::string text();

  /// Steps into the next value; then `key` or `item` until they say that it has ended.
  bool enter_object();
  bool enter_array();

  /// The next key of the object entered last, or nothing at its end. Its value must be read,
  /// entered or skipped.
  std::optional<std::string> key();
  /// Whether the array entered last has another item, which must be read, entered or skipped.
  bool item();

  /// Passes over the next value, whatever it is.
  void skip();
  /// The next value as it is written, passed over.
  std::string_view raw();

  /// Only white space may follow.
  void finish();

  bool failed() const { return !problem_.empty(); }
  /// "line 3, column 7: expected ',' or '}'".
  const std::string& problem() const { return problem_; }
  /// Records a problem of the caller's own at the present place.
  void fail(std::string_view what);

 private:
  struct Level {
    char closing;
    bool empty;
  };

  void skip_space();
  bool take(char c);
  bool take_word(std::string_view word);
  bool enter(char opening, char closing);
  bool another(char closing);
  void skip_one();
  void escape(std::string& out);
  std::optional<std::uint32_t> hex4();

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<Level> levels_;
  std::string problem_;
};

/// `text` as a JSON string, quotes included.
std::string json_quoted(std::string_view text);

}  // namespace memtape
