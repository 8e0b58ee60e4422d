// SPDX-License-Identifier: Apache-2.0
// A pickle of any bytes: it is refused, or it becomes recordings that are explained.
#include <cstdint>
#include <string_view>

#include "evidence/explanation.h"
#include "evidence/snapshot_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace memtape;
  MemoryStream stream({reinterpret_cast<const char*>(data), size});
  auto snapshot = read_snapshot(stream);
  if (!snapshot) return 0;
  for (Recording& recording : recordings_of(std::move(*snapshot), "fuzz"))
    explained(std::move(recording));
  return 0;
}
