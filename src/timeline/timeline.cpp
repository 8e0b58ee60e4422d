// SPDX-License-Identifier: Apache-2.0
#include "timeline/timeline.h"

#include <limits>

namespace memtape {

Lifetimes::Lifetimes(const Tape& tape)
    : tape_(tape),
      born_(tape.requested.size()),
      freed_(tape.requested.size(), std::numeric_limits<std::uint32_t>::max()) {
  for (std::size_t at = 0; at < tape.events.size(); ++at) {
    const Event& event = tape.events[at];
    if (event.kind == EventKind::alloc) born_[event.block] = static_cast<std::uint32_t>(at);
    if (event.kind == EventKind::free) freed_[event.block] = static_cast<std::uint32_t>(at);
  }
}

std::vector<BlockId> Lifetimes::alive(std::size_t at) const {
  std::vector<BlockId> ids;
  for (BlockId id = 0; id < born_.size() && born_[id] <= at; ++id)
    if (lives(id, at)) ids.push_back(id);
  return ids;
}

CategoryBytes Lifetimes::alive_by_category(const BlockSizes& sizes, std::size_t at) const {
  CategoryBytes bytes;
  for (BlockId id = 0; id < sizes.size() && born_[id] <= at; ++id)
    if (lives(id, at)) bytes[tape_.why[id].category] += sizes[id];
  return bytes;
}

}  // namespace memtape
