// SPDX-License-Identifier: Apache-2.0
// JsonWriter: appends JSON to a string, with keys in the order in which they are written. Pretty
// text breaks lines and indents by two spaces; arrays of plain numbers stay on one line. Compact
// text has no white space at all. The caller keeps begin/end and key/value in order. Text is
// escaped as RFC 8259 asks; a byte that is not UTF-8 (file names may hold any) becomes U+FFFD.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace memtape::report {

class JsonWriter {
 public:
  enum class Layout { pretty, compact };

  explicit JsonWriter(Layout layout) : pretty_(layout == Layout::pretty) {}

  void begin_object() { begin('{'); }
  void end_object() { end('}'); }
  void begin_array() { begin('['); }
  /// Begins an array whose items stay on one line.
  void begin_row();
  void end_array() { end(']'); }

  void key(std::string_view name);
  void value(std::string_view text);
  void value(const char* text) { value(std::string_view(text)); }
  void value(std::int64_t number);
  void value(int number) { value(std::int64_t{number}); }
  void value(bool truth) { raw(truth ? "true" : "false"); }
  void null() { raw("null"); }
  /// Writes a value that is JSON already.
  void raw(std::string_view json);

  template <class T>
  void member(std::string_view name, const T& v) {
    key(name);
    value(v);
  }

  std::string take() && { return std::move(text_); }

 private:
  void begin(char bracket);
  void end(char bracket);
  void separate();
  void line_break();
  void quote(std::string_view text);

  std::string text_;
  bool pretty_;
  bool first_ = true;  ///< nothing has been written yet within the innermost bracket
  bool after_key_ = false;
  int depth_ = 0;
  int row_depth_ = 0;  ///< the depth of the innermost row; 0 outside of rows
};

}  // namespace memtape::report
