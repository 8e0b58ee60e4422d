// SPDX-License-Identifier: Apache-2.0
#include "evidence/quantity.h"

#include <array>
#include <charconv>
#include <cmath>
#include <string>

namespace memtape {
namespace {

struct UnitName {
  std::string_view name;
  Bytes binary, decimal;
};

constexpr Bytes kTebi = Bytes{1} << 40;
constexpr std::array<UnitName, 15> kUnits{{{"bytes", 1, 1},
                                           {"byte", 1, 1},
                                           {"KiB", 1_KiB, 1_KiB},
                                           {"MiB", 1_MiB, 1_MiB},
                                           {"GiB", 1_GiB, 1_GiB},
                                           {"TiB", kTebi, kTebi},
                                           {"KB", 1_KiB, 1000},
                                           {"MB", 1_MiB, 1000000},
                                           {"GB", 1_GiB, 1000000000},
                                           {"TB", kTebi, 1000000000000},
                                           {"kB", 1_KiB, 1000},
                                           {"kb", 1_KiB, 1000},
                                           {"mb", 1_MiB, 1000000},
                                           {"gb", 1_GiB, 1000000000},
                                           {"B", 1, 1}}};
constexpr double kMost = 1e15;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

struct Digits {
  double value = 0;
  int decimals = 0;
  std::size_t used = 0;
};

/// Digits with at most one point or comma between them.
std::optional<Digits> digits_at(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size() && text[at] == ' ') ++at;
  const std::size_t first = at;
  std::string spelling;
  if (at < text.size() && text[at] == '-') spelling += text[at++];
  bool has_point = false;
  Digits digits;
  for (; at < text.size() && spelling.size() < 40; ++at) {
    const char c = text[at];
    const bool digit_follows = at + 1 < text.size() && is_digit(text[at + 1]);
    if (is_digit(c)) {
      spelling += c;
      if (has_point) ++digits.decimals;
    } else if ((c == '.' || c == ',') && !has_point && digit_follows && at > first) {
      spelling += '.';
      has_point = true;
    } else {
      break;
    }
  }
  const auto [end, error] =
      std::from_chars(spelling.data(), spelling.data() + spelling.size(), digits.value);
  if (error != std::errc{} || end != spelling.data() + spelling.size()) return std::nullopt;
  digits.used = at;
  return digits;
}

}  // namespace

std::optional<Quantity> quantity_at(std::string_view text, std::size_t* used, bool decimal_units) {
  const auto digits = digits_at(text);
  if (!digits || digits->value < 0 || digits->value > kMost) return std::nullopt;
  std::size_t at = digits->used;
  while (at < text.size() && text[at] == ' ') ++at;
  for (const UnitName& unit : kUnits) {
    if (!text.substr(at).starts_with(unit.name)) continue;
    const std::size_t end = at + unit.name.size();
    if (end < text.size() && is_letter(text[end])) continue;
    const auto size = static_cast<double>(decimal_units ? unit.decimal : unit.binary);
    const double bytes = digits->value * size;
    if (bytes > kMost) return std::nullopt;
    if (used) *used = end;
    const double step = size / std::pow(10.0, digits->decimals);
    return Quantity{static_cast<Bytes>(std::llround(bytes)),
                    size == 1 ? 0 : static_cast<Bytes>(step / 2)};
  }
  return std::nullopt;
}

std::optional<double> number_at(std::string_view text, std::size_t* used) {
  const auto digits = digits_at(text);
  if (!digits) return std::nullopt;
  if (used) *used = digits->used;
  return digits->value;
}

std::optional<std::int64_t> whole_at(std::string_view text, std::size_t* used) {
  std::size_t at = 0;
  while (at < text.size() && text[at] == ' ') ++at;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), value);
  if (error != std::errc{}) return std::nullopt;
  if (used) *used = static_cast<std::size_t>(end - text.data());
  return value;
}

}  // namespace memtape
