// SPDX-License-Identifier: Apache-2.0
#include "family/key_value_cache.h"

#include <utility>

#include "family/cache_layers.h"
#include "ghost/ops/copy_into.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/padding.h"

namespace memtape::family {
namespace {

thread_local KeyValueCache* current = nullptr;

}  // namespace

KeyValueCache::Passed::Passed(KeyValueCache* cache) : outer_(std::exchange(current, cache)) {
  if (cache) cache->next_ = 0;
}
KeyValueCache::Passed::~Passed() { current = outer_; }

KeyValueCache* KeyValueCache::passed() { return current; }

void KeyValueCache::update(Tensor& key_states, Tensor& value_states) {
  if (!current) return;
  if (current->next_ == current->layers_.size())
    current->layers_.push_back(current->make_layer(current->next_));
  current->layers_[current->next_++]->update(key_states, value_states);
}

std::int64_t KeyValueCache::window(std::size_t layer) const {
  return layer < settings_.sliding_windows.size() ? settings_.sliding_windows[layer] : 0;
}

std::unique_ptr<CacheLayer> KeyValueCache::make_layer(std::size_t layer) const {
  const std::int64_t sliding = window(layer);
  if (is_fixed()) {
    if (sliding > 0)
      return std::make_unique<StaticSlidingWindowLayer>(settings_.max_length, sliding);
    return std::make_unique<StaticLayer>(settings_.max_length);
  }
  if (sliding > 0) return std::make_unique<DynamicSlidingWindowLayer>(sliding);
  return std::make_unique<DynamicLayer>();
}

MaskSizes KeyValueCache::mask_sizes(bool sliding, std::int64_t queries) const {
  std::size_t layer = 0;
  while (layer < settings_.sliding_windows.size() && (window(layer) > 0) != sliding) ++layer;
  if (layer >= settings_.sliding_windows.size()) layer = 0;
  if (layer < layers_.size()) return layers_[layer]->mask_sizes(queries);
  return make_layer(layer)->mask_sizes(queries);
}

/// Generation would go on from these states, which is not modelled.
void KeyValueCache::update_conv_state(Tensor& conv_states, std::int64_t conv_kernel_size) {
  if (!current) return;
  if (!ghost::session().grad_enabled)
    ghost::session().fail({ErrorKind::unsupported, "generation with linear attention", "model_type",
                           "layers with a recurrent state are modelled in training"});
  Dims sizes = conv_states.sizes();
  sizes[-1] = conv_kernel_size;
  const Tensor kept = ghost::zeros(sizes, conv_states.dtype());
  ghost::copy_into(kept, kept, conv_states);
  current->linear_states_.push_back(kept);
  if (conv_states.size(-1) < conv_kernel_size)
    conv_states = ghost::pad_last(conv_states, conv_kernel_size - conv_states.size(-1), 0);
}

void KeyValueCache::update_recurrent_state(const Tensor& recurrent_states) {
  if (!current) return;
  const Tensor kept = ghost::zeros_like(recurrent_states);
  ghost::copy_into(kept, kept, recurrent_states);  // and with it the state's history
  current->linear_states_.push_back(kept);
}

}  // namespace memtape::family
