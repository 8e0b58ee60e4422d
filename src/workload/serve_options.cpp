// SPDX-License-Identifier: Apache-2.0
#include "workload/serve_options.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "base/text.h"
#include "base/typed_number.h"

namespace memtape {
namespace {

/// Calls `use` with each spelling until it returns true.
template <class F>
bool any_spelling(std::string_view spellings, F&& use) {
  while (!spellings.empty()) {
    const std::size_t end = std::min(spellings.find(' '), spellings.size());
    if (use(spellings.substr(0, end))) return true;
    spellings.remove_prefix(std::min(end + 1, spellings.size()));
  }
  return false;
}

tl::unexpected<Error> unusable(std::string_view name, std::string_view value, std::string hint) {
  return bad_input(fmt::format("unusable value \"{}\"", value), fmt::format("--{}", name),
                   std::move(hint));
}

template <class T>
bool reads_whole(const std::string& text, T& value) {
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && at == text.data() + text.size() && !text.empty();
}

/// Sizes are typed as 24GiB, counts of tokens as 8k.
bool reads_number(std::string_view name, const std::string& text, std::int64_t& value) {
  if (reads_whole(text, value)) return true;
  const auto typed =
      name.find("bytes") != std::string_view::npos || name.find("memory") != std::string_view::npos
          ? typed_bytes(text)
          : typed_tokens(text);
  if (typed) value = *typed;
  return typed.has_value();
}

}  // namespace

std::string_view ServeFlag::name() const {
  const std::string_view first = spellings.substr(0, spellings.find(' '));
  return first.substr(std::min(first.find_first_not_of('-'), first.size()));
}

bool ServeFlag::is_spelled(std::string_view word) const {
  return any_spelling(spellings, [&](std::string_view spelling) { return spelling == word; });
}

const ServeFlag* find_flag(std::span<const ServeFlag> flags, std::string_view spelling) {
  const auto at =
      std::ranges::find_if(flags, [&](auto& flag) { return flag.is_spelled(spelling); });
  return at == flags.end() ? nullptr : &*at;
}

const std::string* ServeOptions::find(std::string_view name) const {
  const auto at = std::find_if(values_.rbegin(), values_.rend(),
                               [&](const auto& value) { return value.first == name; });
  return at == values_.rend() ? nullptr : &at->second;
}

std::vector<std::string> ServeOptions::all(std::string_view name) const {
  std::vector<std::string> found;
  for (const auto& [key, value] : values_)
    if (key == name) found.push_back(value);
  return found;
}

std::string ServeOptions::text(std::string_view name, std::string_view otherwise) const {
  const std::string* value = find(name);
  return value ? *value : std::string(otherwise);
}

Result<std::int64_t> ServeOptions::integer(std::string_view name, std::int64_t otherwise,
                                           IntegerRange range) const {
  const std::string* text = find(name);
  if (!text) return otherwise;
  std::int64_t value = 0;
  if (!reads_number(name, *text, value) || value < range.least || value > range.most)
    return unusable(name, *text,
                    range.most < IntegerRange{}.most
                        ? fmt::format("a whole number from {} to {}", range.least, range.most)
                        : fmt::format("a whole number of {} or more", range.least));
  return value;
}

Result<double> ServeOptions::number(std::string_view name, double otherwise) const {
  const std::string* text = find(name);
  if (!text) return otherwise;
  double value = 0;
  if (!reads_whole(*text, value) || !std::isfinite(value)) return unusable(name, *text, "a number");
  return value;
}

Result<std::size_t> ServeOptions::choice(std::string_view name,
                                         std::span<const std::string_view> choices,
                                         std::string_view otherwise) const {
  const std::string typed = text(name, otherwise);
  for (std::size_t i = 0; i < choices.size(); ++i)
    if (choices[i] == typed) return i;
  return unusable(name, typed, suggestion(typed, choices));
}

}  // namespace memtape
