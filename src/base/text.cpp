// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "base/edit_distance.h"

namespace memtape {
namespace {

constexpr std::size_t kLongestName = 256;

}  // namespace

std::string_view nearest(std::string_view typed, std::span<const std::string_view> candidates) {
  std::string_view best;
  typed = typed.substr(0, kLongestName);
  const std::size_t most = std::max<std::size_t>((typed.size() + 1) / 3, 1);
  std::size_t least = kLongestName;
  for (std::string_view candidate : candidates) {
    const std::size_t shared = std::min(typed.size(), candidate.size());
    const bool is_part = shared > 3 && typed.substr(0, shared) == candidate.substr(0, shared);
    const std::size_t distance = edit_distance(typed, candidate);
    if ((is_part || distance <= most) && distance < least) {
      least = distance;
      best = candidate;
    }
  }
  return best;
}

std::string suggestion(std::string_view typed, std::span<const std::string_view> candidates) {
  if (std::string_view best = nearest(typed, candidates); !best.empty())
    return fmt::format("did you mean {}?", best);
  const auto named = candidates.first(std::min(candidates.size(), kMostNamed));
  const std::size_t left = candidates.size() - named.size();
  return fmt::format("one of {}{}", fmt::join(named, ", "),
                     left ? fmt::format(" and {} more", left) : std::string());
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kWhiteSpace = " \t\r\n\v\f";
  const std::size_t begin = text.find_first_not_of(kWhiteSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kWhiteSpace) - begin + 1);
}

std::string gib(Bytes bytes) {
  return fmt::format("{:.2f} GiB", static_cast<double>(bytes) / static_cast<double>(1_GiB));
}

std::string human_bytes(Bytes bytes) {
  const Bytes size = bytes < 0 ? -bytes : bytes;
  if (size >= 1_GiB) return gib(bytes);
  if (size >= 1_MiB)
    return fmt::format("{:.2f} MiB", static_cast<double>(bytes) / static_cast<double>(1_MiB));
  if (size >= 1_KiB)
    return fmt::format("{:.1f} KiB", static_cast<double>(bytes) / static_cast<double>(1_KiB));
  return fmt::format("{} B", bytes);
}

std::string with_commas(std::int64_t n) {
  std::string digits = std::to_string(n);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > (n < 0 ? 1 : 0); at -= 3)
    digits.insert(static_cast<std::size_t>(at), 1, ',');
  return digits;
}

}  // namespace memtape
