// SPDX-License-Identifier: Apache-2.0
#include "base/json_reader.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <limits>

namespace memtape {
namespace {

constexpr std::size_t kDeepestNesting = 64;
constexpr std::size_t kLongestNumber = 64;

bool is_json_digit(char c) { return c >= '0' && c <= '9'; }

/// Length of the UTF-8 sequence at the start of `text` (RFC 3629: no overlong forms, no
/// surrogates), 0 if there is none.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const auto tail = [&](std::size_t i) { return (byte(i) & 0xC0u) == 0x80u; };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return tail(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const bool overlong = first == 0xE0 && byte(1) < 0xA0;
    const bool surrogate = first == 0xED && byte(1) > 0x9F;
    return tail(1) && tail(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const bool overlong = first == 0xF0 && byte(1) < 0x90;
    const bool beyond = first == 0xF4 && byte(1) > 0x8F;
    return tail(1) && tail(2) && tail(3) && !overlong && !beyond ? 4 : 0;
  }
  return 0;
}

void append_utf8(std::string& out, std::uint32_t point) {
  const auto put = [&](std::uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (point < 0x80) {
    put(point);
  } else if (point < 0x800) {
    put(0xC0 | point >> 6), put(0x80 | (point & 0x3F));
  } else if (point < 0x10000) {
    put(0xE0 | point >> 12), put(0x80 | (point >> 6 & 0x3F)), put(0x80 | (point & 0x3F));
  } else {
    put(0xF0 | point >> 18), put(0x80 | (point >> 12 & 0x3F));
    put(0x80 | (point >> 6 & 0x3F)), put(0x80 | (point & 0x3F));
  }
}

/// Length of the number at the start of `text` by JSON's grammar, 0 if there is none.
std::size_t number_length(std::string_view text) {
  std::size_t at = 0;
  const auto digits = [&] {
    const std::size_t from = at;
    while (at < text.size() && is_json_digit(text[at])) ++at;
    return at > from;
  };
  const auto has = [&](std::string_view any) {
    return at < text.size() && any.find(text[at]) != std::string_view::npos;
  };
  if (has("-")) ++at;
  const bool zero = has("0");
  const std::size_t whole = at;
  if (!digits() || (zero && at > whole + 1)) return 0;
  if (has(".")) {
    ++at;
    if (!digits()) return 0;
  }
  if (has("eE")) {
    ++at;
    if (has("+-")) ++at;
    if (!digits()) return 0;
  }
  return at;
}

JsonNumber number_from(std::string_view spelling) {
  JsonNumber number{spelling, std::nullopt, 0};
  if (spelling.find_first_of(".eE") == std::string_view::npos) {
    std::int64_t value = 0;
    const auto [end, error] =
        std::from_chars(spelling.data(), spelling.data() + spelling.size(), value);
    if (error == std::errc() && end == spelling.data() + spelling.size()) number.integer = value;
  }
  number.real = std::strtod(std::string(spelling).c_str(), nullptr);
  return number;
}

}  // namespace

void JsonReader::fail(std::string_view what) {
  if (failed()) return;
  const std::string_view before = text_.substr(0, at_);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  problem_ =
      "line " + std::to_string(line) + ", column " + std::to_string(at_ - line_start + 1) + ": ";
  problem_ += at_ >= text_.size() ? "the text ends early, " : "";
  problem_ += what;
}

void JsonReader::skip_space() {
  while (at_ < text_.size() &&
         std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos)
    ++at_;
}

bool JsonReader::take(char c) {
  skip_space();
  if (failed() || at_ >= text_.size() || text_[at_] != c) return false;
  ++at_;
  return true;
}

bool JsonReader::take_word(std::string_view word) {
  skip_space();
  if (failed() || !text_.substr(at_).starts_with(word)) return false;
  at_ += word.size();
  return true;
}

JsonKind JsonReader::next() {
  skip_space();
  if (failed() || at_ >= text_.size()) return JsonKind::nothing;
  switch (text_[at_]) {
    case '{': return JsonKind::object;
    case '[': return JsonKind::array;
    case '"': return JsonKind::text;
    case 't':
    case 'f': return JsonKind::boolean;
    case 'n': return JsonKind::null;
    case 'N':
    case 'I':
    case '-': return JsonKind::number;
    default: return is_json_digit(text_[at_]) ? JsonKind::number : JsonKind::nothing;
  }
}

void JsonReader::null() {
  if (!take_word("null")) fail("expected null");
}

bool JsonReader::boolean() {
  if (take_word("true")) return true;
  if (!take_word("false")) fail("expected true or false");
  return false;
}

JsonNumber JsonReader::number() {
  using Limits = std::numeric_limits<double>;
  if (take_word("NaN")) return {"NaN", std::nullopt, Limits::quiet_NaN()};
  if (take_word("Infinity")) return {"Infinity", std::nullopt, Limits::infinity()};
  if (take_word("-Infinity")) return {"-Infinity", std::nullopt, -Limits::infinity()};
  skip_space();
  const std::size_t length = failed() ? 0 : number_length(text_.substr(at_));
  if (length == 0) return fail("expected a number"), JsonNumber{};
  if (length > kLongestNumber) return fail("a number of more than 64 characters"), JsonNumber{};
  const std::string_view spelling = text_.substr(at_, length);
  at_ += length;
  return number_from(spelling);
}

std::optional<std::uint32_t> JsonReader::hex4() {
  const std::string_view digits = text_.substr(at_, 4);
  std::uint32_t unit = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), unit, 16);
  if (digits.size() < 4 || error != std::errc() || end != digits.data() + 4) return std::nullopt;
  at_ += 4;
  return unit;
}

void JsonReader::escape(std::string& out) {
  constexpr std::string_view kLetters = "\"\\/bfnrt";
  constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
  const char letter = at_ < text_.size() ? text_[at_] : '\0';
  if (const std::size_t which = kLetters.find(letter);
      which != std::string_view::npos && letter != '\0') {
    ++at_;
    out.push_back(kMeanings[which]);
    return;
  }
  if (letter != 'u') return fail("an unknown escape in a string");
  ++at_;
  const std::optional<std::uint32_t> unit = hex4();
  if (!unit) return fail("expected four hexadecimal digits after \\u");
  if (*unit < 0xD800 || *unit > 0xDFFF) return append_utf8(out, *unit);
  std::optional<std::uint32_t> low;
  if (*unit < 0xDC00 && text_.substr(at_).starts_with("\\u")) at_ += 2, low = hex4();
  if (!low || *low < 0xDC00 || *low > 0xDFFF) return fail("half of a surrogate pair in a string");
  append_utf8(out, 0x10000 + ((*unit - 0xD800) << 10) + (*low - 0xDC00));
}

std::string JsonReader::text() {
  std::string out;
  if (!take('"')) return fail("expected a string in double quotes"), out;
  while (!failed()) {
    if (at_ >= text_.size()) return fail("expected the end of a string"), out;
    const char c = text_[at_];
    if (c == '"') return ++at_, out;
    if (static_cast<unsigned char>(c) < 0x20) return fail("a control character in a string"), out;
    if (c == '\\') {
      ++at_;
      escape(out);
      continue;
    }
    const std::size_t length = utf8_length(text_.substr(at_));
    if (length == 0) return fail("a string that is not UTF-8"), out;
    out.append(text_.substr(at_, length));
    at_ += length;
  }
  return out;
}

bool JsonReader::enter(char opening, char closing) {
  if (!take(opening)) return fail(opening == '{' ? "expected '{'" : "expected '['"), false;
  if (levels_.size() >= kDeepestNesting) return fail("nested more than 64 deep"), false;
  levels_.push_back({closing, true});
  return true;
}

bool JsonReader::enter_object() { return enter('{', '}'); }
bool JsonReader::enter_array() { return enter('[', ']'); }

bool JsonReader::another(char closing) {
  if (failed() || levels_.empty() || levels_.back().closing != closing) return false;
  Level& level = levels_.back();
  if (take(closing)) return levels_.pop_back(), false;
  if (!level.empty && !take(',')) {
    fail(closing == '}' ? "expected ',' or '}'" : "expected ',' or ']'");
    return false;
  }
  level.empty = false;
  return true;
}

std::optional<std::string> JsonReader::key() {
  if (!another('}')) return std::nullopt;
  if (next() != JsonKind::text) return fail("expected a key in double quotes"), std::nullopt;
  std::string name = text();
  if (!failed() && !take(':')) fail("expected ':' after a key");
  if (failed()) return std::nullopt;
  return name;
}

bool JsonReader::item() { return another(']'); }

std::string_view JsonReader::raw() {
  skip_space();
  const std::size_t begin = at_;
  skip();
  return text_.substr(begin, failed() ? 0 : at_ - begin);
}

void JsonReader::skip_one() {
  switch (next()) {
    case JsonKind::null: return null();
    case JsonKind::boolean: return static_cast<void>(boolean());
    case JsonKind::number: return static_cast<void>(number());
    case JsonKind::text: return static_cast<void>(text());
    case JsonKind::array: return static_cast<void>(enter_array());
    case JsonKind::object: return static_cast<void>(enter_object());
    case JsonKind::nothing: return fail("expected a value");
  }
}

void JsonReader::skip() {
  const std::size_t outside = levels_.size();
  skip_one();
  while (!failed() && levels_.size() > outside)
    if (levels_.back().closing == '}' ? key().has_value() : item()) skip_one();
}

void JsonReader::finish() {
  skip_space();
  if (!failed() && at_ < text_.size()) fail("expected nothing more");
}

std::string json_quoted(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out.append({'\\', c});
    } else if (byte < 0x20) {
      out.append("\\u00").append({kHex[byte >> 4], kHex[byte & 15]});
    } else {
      out.push_back(c);
    }
  }
  return out + "\"";
}

}  // namespace memtape
