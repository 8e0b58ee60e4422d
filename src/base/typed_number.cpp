// SPDX-License-Identifier: Apache-2.0
#include "base/typed_number.h"

#include <array>
#include <charconv>
#include <cmath>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/letter_case.h"

namespace memtape {
namespace {

using Unit = std::pair<std::string_view, double>;

constexpr double kKibi = 1024;
constexpr auto kSizes = std::to_array<Unit>({
    {"", 1},
    {"b", 1},
    {"kb", 1e3},
    {"mb", 1e6},
    {"gb", 1e9},
    {"tb", 1e12},
    {"k", kKibi},
    {"ki", kKibi},
    {"kib", kKibi},
    {"m", kKibi* kKibi},
    {"mi", kKibi* kKibi},
    {"mib", kKibi* kKibi},
    {"g", kKibi* kKibi* kKibi},
    {"gi", kKibi* kKibi* kKibi},
    {"gib", kKibi* kKibi* kKibi},
    {"t", kKibi* kKibi* kKibi* kKibi},
    {"ti", kKibi* kKibi* kKibi* kKibi},
    {"tib", kKibi* kKibi* kKibi* kKibi},
});
constexpr auto kTokens = std::to_array<Unit>({{"", 1}, {"k", kKibi}, {"m", kKibi* kKibi}});
constexpr auto kParameters =
    std::to_array<Unit>({{"", 1}, {"k", 1e3}, {"m", 1e6}, {"b", 1e9}, {"t", 1e12}});

template <std::size_t n>
std::optional<std::int64_t> number(std::string_view text, const std::array<Unit, n>& units) {
  const std::size_t digits = text.find_first_not_of("0123456789.");
  const std::string_view figure = text.substr(0, digits);
  std::string_view rest = digits == std::string_view::npos ? "" : text.substr(digits);
  while (rest.starts_with(' ')) rest.remove_prefix(1);
  const std::string unit = lower_case(std::string(rest));
  for (const auto& [name, times] : units) {
    if (name != unit) continue;
    std::int64_t whole = 0;
    const char* end = figure.data() + figure.size();
    const auto [at, error] = std::from_chars(figure.data(), end, whole);
    constexpr double kMost = 9.2e18;
    if (error == std::errc() && at == end) {
      if (static_cast<double>(whole) * times > kMost) return std::nullopt;
      return whole * static_cast<std::int64_t>(times);
    }
    double real = 0;
    const auto [after, bad] = std::from_chars(figure.data(), end, real);
    if (name.empty() || bad != std::errc() || after != end || !(real * times <= kMost))
      return std::nullopt;
    return std::llround(real * times);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && at == text.data() + text.size() ? std::optional(value)
                                                                 : std::nullopt;
}

std::optional<double> real_number(std::string_view text) {
  double value = 0;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_all = error == std::errc() && at == text.data() + text.size();
  return is_all && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

std::optional<std::int64_t> typed_count(std::string_view text) {
  constexpr std::string_view kSmall = "kmgt", kLarge = "KMGT";
  if (text.size() < 2) return std::nullopt;
  const std::size_t small = kSmall.find(text.back()), large = kLarge.find(text.back());
  const bool is_binary = large != std::string_view::npos;
  if (small == std::string_view::npos && !is_binary) return std::nullopt;
  double value = 0;
  const char* const end = text.data() + text.size() - 1;
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || at != end) return std::nullopt;
  const double unit =
      std::pow(is_binary ? kKibi : 1000.0, static_cast<double>((is_binary ? large : small) + 1));
  return std::fabs(value * unit) < 9e18 ? std::optional(std::llrint(value * unit)) : std::nullopt;
}

bool may_be_number(std::string_view text, bool is_whole) {
  if (text.starts_with('$')) return true;
  return is_whole ? whole_number(text) || typed_count(text) : real_number(text).has_value();
}

std::optional<Bytes> typed_bytes(std::string_view text) { return number(text, kSizes); }

std::optional<std::int64_t> typed_tokens(std::string_view text) { return number(text, kTokens); }

std::optional<std::int64_t> typed_parameters(std::string_view text) {
  return number(text, kParameters);
}

tl::unexpected<Error> no_unit(std::string_view option, Bytes bytes) {
  return bad_input(fmt::format("{} are bytes, fewer than anything has", bytes),
                   fmt::format("--{}", option), fmt::format("did you mean {}GiB?", bytes));
}

}  // namespace memtape
