// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "release/release_costs.h"

namespace memtape {

std::span<const ReleaseCost> release_costs(Package package, std::string_view family) {
  const auto found =
      std::ranges::equal_range(release_costs(package), family, {}, &ReleaseCost::family);
  return {found.begin(), found.end()};
}

}  // namespace memtape
