// SPDX-License-Identifier: Apache-2.0
// LayerStates: what layers hold from one pass to the next besides their parameters, such as a cache
// of keys and values. A pass without gradients may append equal layers instead of running them
// (equal_layers.h) only if it is known what they hold, that is while LayerStates are given
// (ghost/given.h). Each layer takes over its own tensors of the pass before, and leaves others in
// their place.
#pragma once

#include <optional>
#include <vector>

#include "ghost/slots.h"
#include "ghost/tensor.h"

namespace memtape::ghost {

class LayerStates {
 public:
  static constexpr Slot kSlot = Slot::layer_states;

  virtual ~LayerStates() = default;

  /// Whether each of a model's `layers` holds tensors now, so that equal layers do the same to
  /// them.
  virtual bool repeats(std::size_t layers) const = 0;
  /// Whether exactly the layers before `layer` have run in this pass.
  virtual bool is_at(std::size_t layer) const = 0;
  /// The tensors that `layer` holds, in the same order for all layers; they may be undefined.
  virtual std::vector<Tensor*> held(std::size_t layer) = 0;
  /// Notes that `layer` has done the same as `model`: it already holds its tensors, the rest of its
  /// state follows here.
  virtual void follow(std::size_t layer, std::size_t model) = 0;
};

/// A held tensor at one moment: its block, and everything that decides what an op does with it.
struct HeldTensor {
  std::optional<BlockId> block;
  Dims sizes, strides;
  DType dtype = DType::uint8;
  bool is_owned = true;  ///< nobody else holds it or its memory

  bool is_like(const HeldTensor& other) const;
};

/// The tensors that `count` layers from `first` on hold.
std::vector<HeldTensor> held_tensors(LayerStates& states, std::size_t first, std::size_t count);
std::vector<BlockId> blocks_of(const std::vector<HeldTensor>& held);
bool are_alike(const std::vector<HeldTensor>& a, const std::vector<HeldTensor>& b);

}  // namespace memtape::ghost
