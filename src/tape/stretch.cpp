// SPDX-License-Identifier: Apache-2.0
#include "tape/stretch.h"

#include <algorithm>

namespace memtape {
namespace {

std::optional<ShapedEvent> shaped(const Event& event, const Stretch& stretch,
                                  const Surroundings& around) {
  const auto owned = [&](BlockOwner owner, BlockId offset) {
    return ShapedEvent{event.kind, owner, event.stream, offset};
  };
  if (event.kind == EventKind::mark || event.kind == EventKind::empty_cache) return std::nullopt;
  if (stretch.has(event.block))
    return owned(BlockOwner::stretch, event.block - stretch.first_block);
  const bool is_given = event.block == around.input || event.block == around.gradient;
  if (is_given && event.kind == EventKind::record_stream) return std::nullopt;
  if (event.block == around.input) return owned(BlockOwner::input, 0);
  if (event.block == around.gradient) return owned(BlockOwner::gradient, 0);
  if (around.forward && around.forward->has(event.block))
    return owned(BlockOwner::forward, event.block - around.forward->first_block);
  if (const auto found = std::find(around.held.begin(), around.held.end(), event.block);
      found != around.held.end())
    return owned(BlockOwner::held, static_cast<BlockId>(found - around.held.begin()));
  return std::nullopt;
}

}  // namespace

TapePosition end_of(const Tape& tape) {
  return {tape.events.size(), static_cast<BlockId>(tape.requested.size())};
}

Stretch between(const TapePosition& from, const TapePosition& to) {
  return {from.event, to.event, from.block, to.block - from.block};
}

std::optional<StretchShape> shape_of(const Tape& tape, const Stretch& stretch,
                                     const Surroundings& around) {
  StretchShape shape;
  shape.reserve(stretch.end - stretch.begin);
  for (std::size_t at = stretch.begin; at < stretch.end; ++at) {
    const std::optional<ShapedEvent> event = shaped(tape.events[at], stretch, around);
    if (!event) return std::nullopt;
    shape.push_back(*event);
  }
  return shape;
}

bool allocate_alike(const Tape& tape, const Stretch& a, const Stretch& b) {
  if (a.blocks != b.blocks) return false;
  for (BlockId i = 0; i < a.blocks; ++i) {
    const BlockId x = a.first_block + i, y = b.first_block + i;
    if (tape.requested[x] != tape.requested[y] || tape.why[x].op != tape.why[y].op) return false;
  }
  return true;
}

}  // namespace memtape
