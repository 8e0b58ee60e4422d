// SPDX-License-Identifier: Apache-2.0
// A trace of any bytes: it is refused, or it replays to its end or to a disagreement, whoever
// places the segments.
#include <cstdint>
#include <string_view>

#include "allocator/replay.h"
#include "formats/trace.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace memtape;
  const auto trace = parse_trace({reinterpret_cast<const char*>(data), size});
  if (!trace) return 0;
  replay(*trace);
  replay(*trace, {DriverPlacement::linux_regions});
  replay(*trace, {DriverPlacement::first_fit});
  return 0;
}
