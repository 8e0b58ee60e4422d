// SPDX-License-Identifier: Apache-2.0
// Seconds: an estimate of time as a range that says so. `mid` is the answer; a measurement is
// expected between `low` and `high` nine times of ten.
#pragma once

namespace memtape::time {

struct Seconds {
  double low = 0, mid = 0, high = 0;

  /// `mid` with the same share below and above.
  static Seconds within(double mid, double share) {
    return {mid / (1 + share), mid, mid * (1 + share)};
  }
};

}  // namespace memtape::time
