// SPDX-License-Identifier: Apache-2.0
#include "release/version.h"

#include <charconv>

#include <fmt/format.h>

namespace memtape {

std::string Version::text() const { return fmt::format("{}.{}.{}", major, minor, patch); }

std::string Version::minor_text() const { return fmt::format("{}.{}", major, minor); }

std::optional<Version> Version::parse(std::string_view text) {
  if (text.starts_with('v')) text.remove_prefix(1);
  Version version;
  const char* at = text.data();
  const char* const end = at + text.size();
  for (std::int32_t* number : {&version.major, &version.minor, &version.patch}) {
    const auto [next, error] = std::from_chars(at, end, *number);
    if (error != std::errc() || *number < 0) return std::nullopt;
    at = next;
    const bool goes_on = end - at > 1 && *at == '.' && at[1] >= '0' && at[1] <= '9';
    if (!goes_on || number == &version.patch) break;
    ++at;
  }
  // "2.8.0+cu128", "5.0.0rc1" and "4.45.2.post1" are known by their numbers; "2x8" is no version.
  constexpr std::string_view kTails = "+-.abcrdp";
  if (at != end && kTails.find(*at) == std::string_view::npos) return std::nullopt;
  return version;
}

}  // namespace memtape
