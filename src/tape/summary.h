// SPDX-License-Identifier: Apache-2.0
// Summary: a stretch of tape in two numbers, on an allocator without rounding: what it leaves
// behind (delta) and how high it rises above its start (peak). Two stretches compose, so n equal
// layers cost a few additions:
//
//     peak |      /\        /\              (d1, p1) + (d2, p2) = (d1 + d2, max(p1, d1 + p2))
//          |   /\/  \___ /\/  \___ delta    the identity is (0, 0); peak is never below 0
//          |__/        |
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/bytes.h"

namespace memtape {

struct Summary {
  Bytes delta = 0, peak = 0;

  /// This stretch, then `next`.
  constexpr Summary then(const Summary& next) const {
    return {delta + next.delta, std::max(peak, delta + next.peak)};
  }
  /// This stretch `n` times in a row. If each run leaves something behind, the last one is the
  /// highest, otherwise the first.
  constexpr Summary times(std::int64_t n) const {
    if (n <= 0) return {};
    return {n * delta, peak + std::max<Bytes>((n - 1) * delta, 0)};
  }
  bool operator==(const Summary&) const = default;
};

}  // namespace memtape
