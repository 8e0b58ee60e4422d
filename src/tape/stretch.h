// SPDX-License-Identifier: Apache-2.0
// Stretch: a run of a tape's events, and its shape: what it does apart from which blocks it does it
// to. Equal layers of a model leave stretches of one shape, so that a shape can be written down
// again for a layer that was not run.
//
// A shape knows five owners of the blocks it frees: the stretch itself, the stretch of the same
// layer's forward (when the layer runs backwards), what the layer was given (the hidden states),
// the gradient it was given, and what the layer held from the pass before. A stretch that frees
// anything else has no shape.
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

/// A moment of a tape: stretches lie between two.
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

/// Who owns the blocks that a stretch may free beside its own.
struct Surroundings {
  std::optional<Stretch> forward = std::nullopt;
  std::optional<BlockId> input = std::nullopt, gradient = std::nullopt;
  std::vector<BlockId> held = {};
};

/// The shape of `stretch`, or nothing when it has none.
std::optional<StretchShape> shape_of(const Tape& tape, const Stretch& stretch,
                                     const Surroundings& around);

/// Whether both stretches allocate the same sizes by the same ops.
bool allocate_alike(const Tape& tape, const Stretch& a, const Stretch& b);

}  // namespace memtape
