// SPDX-License-Identifier: Apache-2.0
// The days on which torchtitan's releases were made (the tags of its repository). Its changes go by
// days (release/torchtitan_changes.h), since it is used from its repository.
#pragma once

#include <array>
#include <utility>

#include "release/version.h"

namespace memtape {

/// The day of release 0.2.0, the newest that is known throughout.
inline constexpr Version kDefaultTitanDay{2025, 10, 31};

/// The day of the newest of those releases that is not after it; one that nobody has read is taken
/// to be as the newest known throughout.
constexpr Version torchtitan_day(const Version& release) {
  constexpr std::array kDays{std::pair{Version{0, 2, 3}, kDefaultTitanDay},
                             std::pair{Version{0, 2, 2}, Version{2026, 2, 20}},
                             std::pair{Version{0, 2, 1}, Version{2025, 12, 26}},
                             std::pair{Version{0, 2, 0}, kDefaultTitanDay}};
  for (const auto& [of, day] : kDays)
    if (of <= release) return day;
  return {2025, 6, 18};  // that of 0.1.0
}

}  // namespace memtape
