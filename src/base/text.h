// SPDX-License-Identifier: Apache-2.0
// Text: names that are nearly right, words without the white space around them, and bytes in a
// readable form.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/bytes.h"

namespace memtape {

/// The candidate that is nearest to `typed` by edit distance (case is ignored), or "" if none is
/// near, that is if more than a third of its letters differ and neither begins with the other.
std::string_view nearest(std::string_view typed, std::span<const std::string_view> candidates);

/// The number of candidates that fit into the one line of an error.
inline constexpr std::size_t kMostNamed = 24;

/// "did you mean X?" for the nearest candidate, or "one of a, b, c" if none is near. If there are
/// many, it lists the first and adds "and 9 more".
std::string suggestion(std::string_view typed, std::span<const std::string_view> candidates);

/// The text without the white space at both ends.
std::string_view trimmed(std::string_view text);

/// Bytes in GiB with two decimals and the unit: "12.34 GiB".
std::string gib(Bytes bytes);

/// Bytes in the largest unit that keeps the number above one: "512 B", "3.0 KiB", "1.50 MiB",
/// "12.34 GiB".
std::string human_bytes(Bytes bytes);

/// 1234567 as "1,234,567".
std::string with_commas(std::int64_t n);

}  // namespace memtape
