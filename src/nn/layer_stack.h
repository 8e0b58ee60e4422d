// SPDX-License-Identifier: Apache-2.0
// run_layers: the loop `for layer in self.layers: hidden_states = layer(hidden_states, ...)` of a
// model. Where the layers repeat with some period, the middle of the stack is written down instead
// of run (ghost/autograd/equal_layers.h).
#pragma once

#include <cstdint>

#include "ghost/autograd/equal_layers.h"
#include "nn/module.h"

namespace memtape::nn {

/// The smallest number of layers after which kind(0), kind(1) ... repeat, if it is at most 8; 0 if
/// there is none.
template <class Kind>
std::size_t layer_period(std::size_t layers, const Kind& kind) {
  constexpr std::size_t kLongest = 8;
  for (std::size_t period = 1; period <= kLongest; ++period) {
    std::size_t i = period;
    while (i < layers && kind(i) == kind(i - period)) ++i;
    if (i >= layers) return period;
  }
  return 0;
}

/// The parameters and buffers that these modules own, as one unit.
ghost::EqualLayers::Layer own_parts(std::span<const ModuleNode* const> modules);

/// Calls `call(layer, index, hidden_states)` for each layer in turn. `period` is what layer_period
/// returns; 0 means that all layers differ.
template <class T, class Call>
Tensor run_layers(ModuleList<T>& layers, Tensor hidden_states, std::size_t period,
                  const Call& call) {
  using ghost::EqualLayers;
  const std::size_t units = period == 0 ? 0 : layers.size() / period;
  ghost::Ptr<EqualLayers> equal;
  if (EqualLayers::worth_it(units, period)) {
    std::vector<EqualLayers::Layer> parts;
    for (std::size_t unit = 0; unit < units; ++unit)
      parts.push_back(own_parts(layers.nodes().subspan(unit * period, period)));
    equal = ghost::Ptr<EqualLayers>(new EqualLayers(std::move(parts), period));
  }
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (equal && i % period == 0 && i / period <= units) {
      equal->reach(i / period, hidden_states);
      if (i / period == EqualLayers::kHead) {
        if (equal->write_middle(hidden_states))
          i = equal->middle_end() * period;
        else
          equal.reset();
      }
    }
    hidden_states = call(layers[i], i, hidden_states);
  }
  if (equal && units * period == layers.size()) equal->reach(units, hidden_states);
  return hidden_states;
}

}  // namespace memtape::nn
