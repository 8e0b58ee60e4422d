// SPDX-License-Identifier: Apache-2.0
// SegmentEvent: what the allocator did to the driver, under the names of PyTorch's trace entries
// (c10/cuda/CUDACachingAllocator.h, TraceEntry).
#pragma once

#include <cstdint>

#include "allocator/driver.h"

namespace memtape {

struct SegmentEvent {
  enum class Kind : std::uint8_t { segment_alloc, segment_free, segment_map, segment_unmap };
  Kind kind;
  AddressRange range;
};

}  // namespace memtape
