// SPDX-License-Identifier: Apache-2.0
#include "report/json_writer.h"

#include <array>
#include <charconv>

namespace memtape::report {
namespace {

/// The two-character escape of a control character, quote or backslash, or "" where there is none.
std::string_view short_escape(char c) {
  switch (c) {
    case '"': return "\\\"";
    case '\\': return "\\\\";
    case '\n': return "\\n";
    case '\r': return "\\r";
    case '\t': return "\\t";
    default: return "";
  }
}

/// Bytes of the UTF-8 sequence at the start of `text`; 0 when there is none (RFC 3629).
std::size_t utf8_length(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  const std::size_t length = lead < 0x80   ? 1
                             : lead < 0xC2 ? 0
                             : lead < 0xE0 ? 2
                             : lead < 0xF0 ? 3
                             : lead < 0xF5 ? 4
                                           : 0;
  if (length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  const bool overlong = (lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xF0 && byte(1) < 0x90);
  const bool surrogate = lead == 0xED && byte(1) >= 0xA0;
  const bool too_large = lead == 0xF4 && byte(1) >= 0x90;
  return overlong || surrogate || too_large ? 0 : length;
}

}  // namespace

void JsonWriter::line_break() {
  if (!pretty_ || row_depth_ > 0) return;
  text_ += '\n';
  text_.append(static_cast<std::size_t>(depth_) * 2, ' ');
}

void JsonWriter::separate() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (!first_) text_ += ',';
  if (!first_ && pretty_ && row_depth_ > 0) text_ += ' ';
  if (depth_ > 0) line_break();
  first_ = false;
}

void JsonWriter::begin(char bracket) {
  separate();
  text_ += bracket;
  ++depth_;
  first_ = true;
}

void JsonWriter::begin_row() {
  begin('[');
  if (row_depth_ == 0) row_depth_ = depth_;
}

void JsonWriter::end(char bracket) {
  const bool empty = first_;
  const bool in_row = row_depth_ > 0;
  if (row_depth_ == depth_) row_depth_ = 0;
  --depth_;
  if (!empty && !in_row) line_break();
  text_ += bracket;
  first_ = false;
  if (depth_ == 0 && pretty_) text_ += '\n';
}

void JsonWriter::key(std::string_view name) {
  separate();
  quote(name);
  text_ += pretty_ ? ": " : ":";
  after_key_ = true;
}

void JsonWriter::value(std::string_view text) {
  separate();
  quote(text);
}

void JsonWriter::value(std::int64_t number) {
  separate();
  std::array<char, 24> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  text_.append(digits.data(), end);
}

void JsonWriter::raw(std::string_view json) {
  separate();
  text_ += json;
}

void JsonWriter::quote(std::string_view text) {
  static constexpr std::string_view kHex = "0123456789abcdef";
  text_ += '"';
  while (!text.empty()) {
    const auto byte = static_cast<unsigned char>(text.front());
    const std::size_t length = utf8_length(text);
    if (const std::string_view escape = short_escape(text.front()); !escape.empty()) {
      text_ += escape;
    } else if (length == 0) {
      text_ += "\\ufffd";
    } else if (byte < 0x20) {
      text_ += "\\u00";
      text_ += kHex[byte >> 4];
      text_ += kHex[byte & 15];
    } else {
      text_ += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  text_ += '"';
}

}  // namespace memtape::report
