// SPDX-License-Identifier: Apache-2.0
// Block and segment, under PyTorch's names (c10/cuda/CUDACachingAllocator.cpp,
// c10/core/AllocatorConfig.h of 2.11). A segment is what the driver gave; blocks cut it up, each
// linked to the neighbours inside its own segment:
//
//     segment  |<------------------ 20 MiB ------------------>|
//     blocks   [ allocated ][ free ][ allocated ][    free     ]
//               prev <----------------------------------> next
//
// Invariants: neighbours touch; two free mapped neighbours never stand side by side (they are
// merged); a block whose segment is expandable may be unmapped: address space without memory.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "tape/tape.h"

namespace memtape {

using Address = std::int64_t;

inline constexpr Bytes kMinBlockSize = 512;     ///< every block is a multiple of this
inline constexpr Bytes kSmallSize = 1 << 20;    ///< the largest request of the small pool
inline constexpr Bytes kSmallBuffer = 2 << 20;  ///< segment of the small pool
inline constexpr Bytes kLargeBuffer =
    20 << 20;  ///< segment for requests of 1 to 10 MiB (large_segment_size_mb)
inline constexpr Bytes kMinLargeAlloc =
    10 << 20;  ///< from here on a request gets a segment of its own size
inline constexpr Bytes kRoundLarge = 2 << 20;  ///< ... rounded up to this

class BlockPool;

/// One cache line.
struct alignas(64) Block {
  Address address = 0;
  Bytes size = 0;
  Bytes requested = 0;    ///< what the program asked for, while allocated
  Block* prev = nullptr;  ///< neighbours inside the segment
  Block* next = nullptr;
  BlockPool* pool = nullptr;      ///< null: not in use, waiting in the arena
  std::uint32_t gc_base = 0;      ///< the pool's count of searches when the block became free
  std::uint32_t order = 0;        ///< among free blocks of one size, before the address
  std::uint16_t expandable = 0;   ///< 0, or 1 + the index of its expandable segment
  std::uint16_t event_count = 0;  ///< streams that may still use the block although it was freed
  StreamId stream = 0;
  bool allocated = false;
  bool mapped = true;
  bool has_stream_uses = false;  ///< record_stream was called since the block was allocated

  bool is_split() const { return prev != nullptr || next != nullptr; }
};

}  // namespace memtape
