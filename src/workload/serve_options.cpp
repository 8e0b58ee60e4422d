// SPDX-License-Identifier: Apache-2.0
#include "workload/serve_options.h"

#include <algorithm>

#include "option/value.h"

namespace memtape {
namespace {

/// Sizes are typed as 24GiB, counts of tokens as 8k.
option::Unit unit_of(std::string_view flag) {
  const bool is_size =
      flag.find("bytes") != std::string_view::npos || flag.find("memory") != std::string_view::npos;
  return is_size ? option::Unit::bytes : option::Unit::tokens;
}

}  // namespace

const ServeFlag* find_flag(std::span<const ServeFlag> flags, std::string_view spelling) {
  const auto at =
      std::ranges::find_if(flags, [&](auto& flag) { return flag.is_spelled(spelling); });
  return at == flags.end() ? nullptr : &*at;
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
  return option::read_whole(name, *text,
                            {.least = range.least, .most = range.most, .unit = unit_of(name)});
}

Result<double> ServeOptions::number(std::string_view name, double otherwise) const {
  const std::string* text = find(name);
  if (!text) return otherwise;
  constexpr double kAny = 1e300;
  const Result<double> value = option::read_real(name, *text, {.least = -kAny, .most = kAny});
  return value ? value : option::unusable(name, *text, "a number");
}

Result<std::size_t> ServeOptions::choice(std::string_view name,
                                         std::span<const std::string_view> choices,
                                         std::string_view otherwise) const {
  return option::read_choice(name, text(name, otherwise), choices);
}

}  // namespace memtape
