// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/outside_growth.h"

#include <algorithm>
#include <array>

namespace memtape::vllm {
namespace {

struct Growth {
  int capability;          ///< of this and the next devices
  int alone, with_others;  ///< in 0.01 GiB: one rank, and one of several
};

/// T4 3, V100 9, A100 9 and 10, 3090 6 (20 of sixteen), 4090 7 (25 of two), H100 13 (54 of two);
/// from the logs in tests/truth/vllm_published.jsonl.
constexpr std::array kGrowths{
    Growth{90, 13, 54}, Growth{89, 7, 25}, Growth{86, 6, 20}, Growth{80, 9, 50},
    Growth{75, 3, 18},  Growth{70, 9, 50}, Growth{0, 3, 18},
};

}  // namespace

Bytes outside_growth(const Settings& settings) {
  constexpr double kCentiGiB = (1 << 30) / 100.0;
  const int capability = settings.device.capability();
  const auto row = std::ranges::find_if(
      kGrowths, [&](const Growth& growth) { return capability >= growth.capability; });
  const bool alone = settings.parallel.tp * settings.parallel.pp * settings.parallel.dp == 1;
  return static_cast<Bytes>((alone ? row->alone : row->with_others) * kCentiGiB);
}

}  // namespace memtape::vllm
