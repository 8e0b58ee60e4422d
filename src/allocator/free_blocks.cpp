// SPDX-License-Identifier: Apache-2.0
#include "allocator/free_blocks.h"

#include <algorithm>
#include <numeric>

namespace memtape {

FreeBlocks::Cursor FreeBlocks::previous(Cursor c) const {
  if (!is_end(c) && c.index + 1 < bins_[c.bin].size()) return {c.bin, c.index + 1};
  for (std::uint32_t bin = std::min(c.bin, kEnd); bin-- > 0;)
    if (!bins_[bin].empty()) return {bin, 0};
  return {kEnd, 0};
}

std::size_t FreeBlocks::size() const {
  return std::accumulate(bins_.begin(), bins_.end(), std::size_t{0},
                         [](std::size_t n, const SortedBin& bin) { return n + bin.size(); });
}

}  // namespace memtape
