// SPDX-License-Identifier: Apache-2.0
#include "family/parts/image_sizes.h"

#include <algorithm>

namespace memtape::family {

ImageSides image_sides(const Config& c, const char* key, std::int64_t otherwise) {
  if (!c.json(key).starts_with('[')) {
    const std::int64_t side = c.dimension(key, otherwise);
    return {side, side};
  }
  constexpr std::int64_t kMost = 1 << 16;
  const std::vector<std::int64_t> sides = c.integers(key);
  const auto is_size = [](std::int64_t side) { return side >= 1 && side <= kMost; };
  if (sides.size() != 2 || !std::ranges::all_of(sides, is_size)) {
    c.fail(key, "must be a size, or [height, width]");
    return {1, 1};
  }
  return {sides[0], sides[1]};
}

}  // namespace memtape::family
