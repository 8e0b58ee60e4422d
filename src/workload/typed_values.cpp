// SPDX-License-Identifier: Apache-2.0
#include "workload/typed_values.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "base/letter_case.h"

namespace memtape {
namespace {

Result<std::int64_t> integer(const NamedValue& option, std::int64_t least, const char* hint) {
  constexpr std::int64_t kMostOf = std::int64_t{1} << 31;
  std::int64_t n = 0;
  const char* end = option.second.data() + option.second.size();
  const auto [at, error] = std::from_chars(option.second.data(), end, n);
  if (error != std::errc() || at != end || n < least || n >= kMostOf)
    return wrong_value(option, hint);
  return n;
}

}  // namespace

tl::unexpected<Error> wrong_value(const NamedValue& option, std::string hint) {
  return bad_input("unusable value \"" + option.second + "\"", "--" + option.first,
                   std::move(hint));
}

Result<bool> boolean(const NamedValue& option) {
  const std::string value = lower_case(option.second);
  for (const std::string_view yes : {"", "true", "yes", "1"})
    if (value == yes) return true;
  for (const std::string_view no : {"false", "no", "0"})
    if (value == no) return false;
  return wrong_value(option, "true or false");
}

Result<std::int64_t> positive(const NamedValue& option) {
  return integer(option, 1, "a whole number of 1 or more");
}

Result<std::int64_t> whole(const NamedValue& option) {
  return integer(option, 0, "a whole number of 0 or more");
}

Result<double> not_negative(const NamedValue& option) {
  char* end = nullptr;
  const double x = std::strtod(option.second.c_str(), &end);
  if (option.second.empty() || *end != '\0' || !std::isfinite(x) || x < 0)
    return wrong_value(option, "a number of 0 or more");
  return x;
}

}  // namespace memtape
