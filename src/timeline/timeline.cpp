// SPDX-License-Identifier: Apache-2.0
#include "timeline/timeline.h"

#include <algorithm>

namespace memtape {

std::vector<BlockId> alive(const Tape& tape, std::size_t at) {
  const std::size_t end = std::min(at + 1, tape.events.size());
  std::vector<bool> lives(tape.requested.size());
  for (std::size_t i = 0; i < end; ++i) {
    const Event& event = tape.events[i];
    if (event.kind == EventKind::alloc) lives[event.block] = true;
    if (event.kind == EventKind::free) lives[event.block] = false;
  }
  std::vector<BlockId> ids;
  for (BlockId id = 0; id < lives.size(); ++id)
    if (lives[id]) ids.push_back(id);
  return ids;
}

CategoryBytes alive_by_category(const Tape& tape, const BlockSizes& sizes, std::size_t at) {
  CategoryBytes bytes;
  for (const BlockId id : alive(tape, at))
    if (id < sizes.size()) bytes[tape.why[id].category] += sizes[id];
  return bytes;
}

}  // namespace memtape
