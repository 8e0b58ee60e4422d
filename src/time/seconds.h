// SPDX-License-Identifier: Apache-2.0
// Seconds: an estimate of time as a range. `mid` is the answer; nine of ten measurements are
// expected to lie between `low` and `high`.
#pragma once

namespace memtape::time {

struct Seconds {
  double low = 0, mid = 0, high = 0;

  /// `mid`, with the same share of it below and above.
  static Seconds within(double mid, double share) {
    return {mid / (1 + share), mid, mid * (1 + share)};
  }
};

}  // namespace memtape::time
