// SPDX-License-Identifier: Apache-2.0
#include "family/caches/key_value_cache.h"

#include <utility>

#include "family/caches/cache_layers.h"
#include "ghost/ops/copy_into.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/indexing.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/padding.h"
#include "ghost/session.h"

namespace memtape::family {

KeyValueCache::Passed::Passed(KeyValueCache* cache) : cache_(cache), states_(cache) {
  if (cache) cache->next_ = cache->next_linear_ = 0;
}

/// Nothing is held but by keys and values, and by all layers: not in host memory, not quantized,
/// and no states of linear attention.
bool KeyValueCache::repeats(std::size_t layers) const {
  return layers_.size() == layers && linear_layers_.empty() && !settings_.offloads &&
         settings_.kind != CacheKind::quantized;
}

void KeyValueCache::follow(std::size_t layer, std::size_t model) {
  layers_[layer]->seen = layers_[model]->seen;
  next_ = layer + 1;
}

void KeyValueCache::update(Tensor& key_states, Tensor& value_states) {
  if (KeyValueCache* const cache = passed()) cache->update_next(key_states, value_states);
}

void KeyValueCache::update_next(Tensor& key_states, Tensor& value_states) {
  const std::size_t layer = next_++;
  if (layer == layers_.size()) layers_.push_back(make_layer(layer));
  if (settings_.offloads) prefetch(layer + 1);
  layers_[layer]->update(key_states, value_states);
  if (settings_.offloads && (!is_fixed() || window(layer) == 0)) layers_[layer]->offload();
}

/// The next layer that goes to host memory, from `layer` on and around; offload_only_non_sliding is
/// StaticCache's default and not DynamicCache's.
void KeyValueCache::prefetch(std::size_t layer) {
  const auto all = static_cast<std::size_t>(settings_.layers);
  if (prefetch_stream_ == 0) prefetch_stream_ = ghost::session().make_stream();
  const auto is_offloaded = [&](std::size_t i) { return !is_fixed() || window(i) == 0; };
  while (layer < all && !is_offloaded(layer)) ++layer;
  if (layer >= all)
    for (layer = 0; layer < all && !is_offloaded(layer);) ++layer;
  if (layer == all)
    ghost::session().fail({ErrorKind::bad_input, "all layers slide, and those are not offloaded",
                           "--cache_implementation", "offloaded, or static"});
  if (layer >= layers_.size()) return;
  const ghost::StreamGuard on_stream(prefetch_stream_);
  layers_[layer]->prefetch();
}

LinearLayer* KeyValueCache::linear_layer() {
  KeyValueCache* const cache = passed();
  if (!cache) return nullptr;
  if (cache->settings_.offloads || cache->settings_.kind != CacheKind::dynamic)
    ghost::session().fail({ErrorKind::unsupported,
                           "layers with a recurrent state are modelled in a dynamic cache",
                           "--cache_implementation", "dynamic"});
  if (cache->settings_.records_past)
    ghost::session().fail({ErrorKind::unsupported,
                           "layers with a recurrent state cannot go back to an earlier token",
                           "assisted decoding", "a model of attention alone"});
  if (cache->next_linear_ == cache->linear_layers_.size())
    cache->linear_layers_.push_back(std::make_unique<LinearLayer>());
  return cache->linear_layers_[cache->next_linear_++].get();
}

void KeyValueCache::crop(std::int64_t tokens) {
  for (const auto& layer : layers_) layer->crop(tokens);
}

void KeyValueCache::initialize_early(std::int64_t sequences, std::int64_t heads,
                                     std::int64_t head_dim, DType dtype) {
  for (std::size_t layer = layers_.size(); layer < static_cast<std::size_t>(settings_.layers);
       ++layer) {
    layers_.push_back(make_layer(layer));
    layers_.back()->initialize_early(ghost::zeros({sequences, heads, 0, head_dim}, dtype));
  }
}

void KeyValueCache::reorder(const Tensor& beam_idx) {
  for (const auto& layer : layers_) layer->reorder(beam_idx);
  for (const auto& layer : linear_layers_) layer->reorder(beam_idx);
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
  if (settings_.kind == CacheKind::quantized && sliding > 0)
    ghost::session().fail(
        {ErrorKind::bad_input,
         "transformers quantizes caches of full attention alone, and layers slide",
         "--cache_implementation", "dynamic or static"});
  if (settings_.kind == CacheKind::quantized)
    return std::make_unique<QuantizedLayer>(settings_.quantized);
  if (sliding > 0)
    return std::make_unique<DynamicSlidingWindowLayer>(sliding, settings_.records_past);
  return std::make_unique<DynamicLayer>();
}

MaskSizes KeyValueCache::mask_sizes(bool sliding, std::int64_t queries) const {
  std::size_t layer = 0;
  while (layer < settings_.sliding_windows.size() && (window(layer) > 0) != sliding) ++layer;
  if (layer >= settings_.sliding_windows.size()) layer = 0;
  if (layer < layers_.size()) return layers_[layer]->mask_sizes(queries);
  return make_layer(layer)->mask_sizes(queries);
}

void LinearLayer::update_conv_state(Tensor& inputs, std::int64_t conv_kernel_size) {
  const bool is_first = !has_previous_state();
  if (is_first) {
    Dims sizes = inputs.sizes();
    sizes[-1] = conv_kernel_size;
    conv_states = ghost::zeros(sizes, inputs.dtype(), Category::kv_cache);
  } else {
    inputs = ghost::cat({conv_states, inputs}, -1);
  }
  ghost::copy_into(conv_states, conv_states, inputs);
  if (inputs.size(-1) < conv_kernel_size)
    inputs = ghost::pad_last(inputs, conv_kernel_size - inputs.size(-1), 0);
}

void LinearLayer::update_recurrent_state(const Tensor& state) {
  if (!recurrent_states.defined()) recurrent_states = ghost::zeros_like(state, Category::kv_cache);
  ghost::copy_into(recurrent_states, recurrent_states, state);  // and with it the state's history
}

void LinearLayer::reorder(const Tensor& beam_idx) {
  const auto reordered = [&beam_idx](const Tensor& states) {
    Tensor rows = ghost::index_select(states, beam_idx);
    ghost::session().set_category(rows, Category::kv_cache);
    return rows;
  };
  if (conv_states.defined()) conv_states = reordered(conv_states);
  if (recurrent_states.defined()) recurrent_states = reordered(recurrent_states);
}

}  // namespace memtape::family
