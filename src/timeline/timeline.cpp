// SPDX-License-Identifier: Apache-2.0
#include "timeline/timeline.h"

#include <algorithm>
#include <limits>

namespace memtape {

Lifetimes::Lifetimes(const Tape& tape)
    : tape_(tape), freed_(tape.requested.size(), std::numeric_limits<std::uint32_t>::max()) {
  for (std::size_t at = 0; at < tape.events.size(); ++at) {
    const Event& event = tape.events[at];
    if (event.kind == EventKind::free) freed_[event.block] = static_cast<std::uint32_t>(at);
  }
}

/// Blocks are numbered in the order in which they are born.
BlockId Lifetimes::born_until(std::size_t at) const {
  for (std::size_t i = std::min(at + 1, tape_.events.size()); i-- > 0;)
    if (tape_.events[i].kind == EventKind::alloc) return tape_.events[i].block + 1;
  return 0;
}

std::vector<BlockId> Lifetimes::alive(std::size_t at) const {
  std::vector<BlockId> ids;
  const BlockId born = born_until(at);
  for (BlockId id = 0; id < born; ++id)
    if (at < freed_[id]) ids.push_back(id);
  return ids;
}

CategoryBytes Lifetimes::alive_by_category(const BlockSizes& sizes, std::size_t at) const {
  CategoryBytes bytes;
  const BlockId born = std::min(born_until(at), static_cast<BlockId>(sizes.size()));
  for (BlockId id = 0; id < born; ++id)
    if (at < freed_[id]) bytes[tape_.why.category(id)] += sizes[id];
  return bytes;
}

}  // namespace memtape
