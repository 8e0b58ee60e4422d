// SPDX-License-Identifier: Apache-2.0
// What the caching allocator does otherwise in a certain release of torch.
#pragma once

#include "allocator/allocator_config.h"
#include "release/torch_changes.h"

namespace memtape {

inline EqualBlocks equal_blocks_of(const Release& release) {
  if (release.has(changes::kOldestSegmentFirst)) return EqualBlocks::oldest_segment;
  return release.has(changes::kOldestFreeBlockFirst) ? EqualBlocks::oldest_block
                                                     : EqualBlocks::lowest_address;
}

}  // namespace memtape
