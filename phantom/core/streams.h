// SPDX-License-Identifier: Apache-2.0
// Streams, events and captures, as far as the host can see them. Work on a stream is done as soon
// as it is launched, and an event as soon as it is recorded. With MEMTAPE_PHANTOM_EVENTS=wait an
// event is done only at the next synchronisation, as on a device that lags behind. Blocks that were
// used on other streams then come back to PyTorch's allocator later.
//
// A capture has a number. A stream that waits for an event of a capturing stream joins its capture
// (CUDA programming guide, "Cross-stream dependencies and events"). All streams leave the capture
// when it ends.
#pragma once

#include <cstdint>

#include "core/export.h"

namespace memtape::phantom {

struct Stream {
  int device = 0, priority = 0;
  unsigned flags = 0;
  std::uint64_t capture = 0;  ///< 0: none
  std::uint64_t id = 0;
};

struct Event {
  std::uint64_t recorded = 0;  ///< synchronisations until it was recorded, plus one; 0: never
  std::uint64_t capture = 0;
};

/// Handles 0, 1 and 2 name the default streams of the calling thread's device.
PHANTOM_CORE Stream& stream_of(const void* handle);
PHANTOM_CORE Stream* new_stream(unsigned flags, int priority);
PHANTOM_CORE void delete_stream(void* handle);

PHANTOM_CORE void record(Event& event, const Stream& stream);
PHANTOM_CORE bool is_done(const Event& event);
PHANTOM_CORE void wait_for(Stream& stream, const Event& event);
/// From now on, everything that has been recorded is done.
PHANTOM_CORE void synchronize();

PHANTOM_CORE bool is_capturing(const Stream& stream);
PHANTOM_CORE void begin_capture(Stream& stream);
PHANTOM_CORE void end_capture(Stream& stream);

}  // namespace memtape::phantom
