// SPDX-License-Identifier: Apache-2.0
#include "ghost/autograd/layer_states.h"

#include <algorithm>
#include <limits>

namespace memtape::ghost {
namespace {

HeldTensor held_tensor(const Tensor& tensor) {
  if (!tensor.defined()) return {};
  HeldTensor held{.block = std::nullopt,
                  .sizes = tensor.sizes(),
                  .strides = tensor.strides(),
                  .dtype = tensor.dtype()};
  const TensorImpl& impl = tensor.impl();
  if (!impl.storage) return held;
  held.block = impl.storage->block;
  held.is_owned = tensor.ptr()->refs == 1 && impl.storage->refs == 1 && !impl.base;
  return held;
}

}  // namespace

bool HeldTensor::is_like(const HeldTensor& other) const {
  return block.has_value() == other.block.has_value() && sizes == other.sizes &&
         strides == other.strides && dtype == other.dtype && is_owned == other.is_owned;
}

std::vector<HeldTensor> held_tensors(LayerStates& states, std::size_t first, std::size_t count) {
  std::vector<HeldTensor> held;
  for (std::size_t layer = first; layer < first + count; ++layer)
    for (const Tensor* tensor : states.held(layer)) held.push_back(held_tensor(*tensor));
  return held;
}

std::vector<BlockId> blocks_of(const std::vector<HeldTensor>& held) {
  std::vector<BlockId> blocks;
  for (const HeldTensor& h : held)
    blocks.push_back(h.block.value_or(std::numeric_limits<BlockId>::max()));
  return blocks;
}

bool are_alike(const std::vector<HeldTensor>& a, const std::vector<HeldTensor>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const HeldTensor& x, const HeldTensor& y) { return x.is_like(y); });
}

}  // namespace memtape::ghost
