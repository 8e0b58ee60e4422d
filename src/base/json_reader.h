// SPDX-License-Identifier: Apache-2.0
// JsonReader: reads JSON by walking through the text value by value, so that the caller decides
// what is kept and how much memory that takes: a configuration becomes a small tree, and the header
// of a safetensors file goes straight into a list of tensors.
//
// The grammar is RFC 8259 plus what Python's json module also reads and writes (NaN, Infinity,
// -Infinity), because Python writes config.json files. Text must be UTF-8. Nesting is limited, and
// numbers keep their spelling. The first problem is kept and ends the walk: afterwards loops over
// keys and items stop, and values read as empty.
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

/// A number as it is written. `integer` is set if it is a whole number without point or exponent
/// that fits into 64 bits.
struct JsonNumber {
  std::string_view spelling = "0";
  std::optional<std::int64_t> integer;
  double real = 0;
};

class JsonReader {
 public:
  /// `text` must outlive the reader.
  explicit JsonReader(std::string_view text) : text_(text) {}

  /// The kind of the value that comes next, or `nothing` if no value can start here.
  JsonKind next();

  /// Reads the next value, which must be of that kind.
  void null();
  bool boolean();
  JsonNumber number();
  std::string text();

  /// Steps into the next value. Call `key` or `item` until they say that it has ended.
  bool enter_object();
  bool enter_array();

  /// The next key of the object that was entered last, or nothing at its end. The caller must then
  /// read, enter or skip its value.
  std::optional<std::string> key();
  /// Whether the array that was entered last has another item. The caller must then read, enter or
  /// skip it.
  bool item();

  /// Skips the next value, whatever it is.
  void skip();
  /// Skips the next value and returns its text.
  std::string_view raw();

  /// Checks that only white space follows.
  void finish();

  bool failed() const { return !problem_.empty(); }
  /// "line 3, column 7: expected ',' or '}'".
  const std::string& problem() const { return problem_; }
  /// Records a problem that the caller has found at the present place.
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

/// `text` as a JSON string with its quotes.
std::string json_quoted(std::string_view text);

}  // namespace memtape
