// SPDX-License-Identifier: Apache-2.0
// Stretch: a range of a tape's events, and its shape: what it does, regardless of which blocks it
// does it to. Equal layers of a model leave stretches of the same shape, so the shape can be
// appended again for a layer that did not run.
//
// A shape knows five owners of the blocks that it frees: the stretch itself, the stretch of the
// same layer's forward (if this is its backward), the input of the layer (the hidden states), the
// gradient that it received, and what the layer held from the pass before. A stretch that frees any
// other block has no shape.
#pragma once

#include <optional>
#include <vector>

#include "tape/tape.h"

namespace memtape {

struct Stretch {
  std::size_t begin = 0, end = 0;       ///< events
  BlockId first_block = 0, blocks = 0;  ///< those it allocates, in order
  bool has(BlockId block) const { return block >= first_block && block - first_block < blocks; }
};

/// A moment of a tape. A stretch lies between two of them.
struct TapePosition {
  std::size_t event = 0;
  BlockId block = 0;
};
TapePosition end_of(const Tape& tape);
Stretch between(const TapePosition& from, const TapePosition& to);

enum class BlockOwner : std::uint8_t { stretch, forward, input, gradient, held };

struct ShapedEvent {
  EventKind kind = EventKind::alloc;
  BlockOwner owner = BlockOwner::stretch;
  StreamId stream = 0;
  BlockId offset = 0;  ///< within its owner; 0 for input and gradient
  bool operator==(const ShapedEvent&) const = default;
};
using StretchShape = std::vector<ShapedEvent>;

/// The owners of blocks that a stretch may free besides its own.
struct Surroundings {
  std::optional<Stretch> forward = std::nullopt;
  std::optional<BlockId> input = std::nullopt, gradient = std::nullopt;
  std::vector<BlockId> held = {};
};

/// The shape of `stretch`; empty if it has none.
std::optional<StretchShape> shape_of(const Tape& tape, const Stretch& stretch,
                                     const Surroundings& around);

/// Whether both stretches allocate the same sizes by the same ops.
bool allocate_alike(const Tape& tape, const Stretch& a, const Stretch& b);

}  // namespace memtape
