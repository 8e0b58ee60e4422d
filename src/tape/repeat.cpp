// SPDX-License-Identifier: Apache-2.0
#include "tape/repeat.h"

#include <limits>

namespace memtape {
namespace {

constexpr BlockId kNone = std::numeric_limits<BlockId>::max();

/// The first block allocated from `first` on; blocks are numbered in order, so those after it are
/// the stretch's own.
BlockId first_block(const Tape& tape, std::size_t first) {
  for (std::size_t at = first; at < tape.events.size(); ++at)
    if (tape.events[at].kind == EventKind::alloc) return tape.events[at].block;
  return kNone;
}

}  // namespace

bool is_steady(const Tape& tape, std::size_t first) {
  const BlockId own = first_block(tape, first);
  std::size_t allocs = 0, frees = 0;
  for (std::size_t at = first; at < tape.events.size(); ++at) {
    const Event& event = tape.events[at];
    if (event.kind == EventKind::alloc) ++allocs;
    if (event.kind != EventKind::free) continue;
    if (event.block < own) return false;
    ++frees;
  }
  return allocs == frees;
}

void append_again(Tape& tape, std::size_t first, int step) {
  const BlockId own = first_block(tape, first);
  const std::size_t end = tape.events.size();
  const auto shift = own == kNone ? 0 : static_cast<BlockId>(tape.requested.size()) - own;
  tape.events.reserve(end + end - first);
  for (std::size_t at = first; at < end; ++at) {
    Event event = tape.events[at];
    if (event.kind == EventKind::mark) {
      Mark mark = tape.marks[event.block];
      mark.step = step;
      tape.mark(mark);
      continue;
    }
    if (event.kind == EventKind::alloc) {
      tape.requested.push_back(tape.requested[event.block]);
      tape.why.push_back(tape.why[event.block]);
    }
    if (event.kind != EventKind::empty_cache && event.block >= own) event.block += shift;
    tape.events.push_back(event);
  }
}

}  // namespace memtape
