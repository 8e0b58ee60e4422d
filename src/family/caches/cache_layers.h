// SPDX-License-Identifier: Apache-2.0
// The layers of cache_utils.py that hold keys and values (DynamicLayer, DynamicSlidingWindowLayer,
// QuantoQuantizedLayer, StaticLayer, StaticSlidingWindowLayer).
#pragma once

#include "family/caches/key_value_cache.h"

namespace memtape::family {

class DynamicLayer : public CacheLayer {
 public:
  void update(Tensor& key_states, Tensor& value_states) override;
  MaskSizes mask_sizes(std::int64_t queries) const override { return {seen + queries, 0}; }
};

/// Attends to the states it held and the new ones, and then keeps the tail that fits the window.
/// That tail is a view, so the whole tensor lives until the next update.
class DynamicSlidingWindowLayer final : public DynamicLayer {
 public:
  explicit DynamicSlidingWindowLayer(std::int64_t window, bool records_past = false)
      : window_(window), records_past_(records_past) {}
  void update(Tensor& key_states, Tensor& value_states) override;
  void crop(std::int64_t tokens) override;
  MaskSizes mask_sizes(std::int64_t queries) const override;

 private:
  std::int64_t window_;
  bool records_past_;
  Tensor window_on_device_;
};

/// Holds the last tokens as they are, up to residual_length of them, and the earlier ones
/// quantized.
class QuantizedLayer final : public DynamicLayer {
 public:
  explicit QuantizedLayer(const QuantizedStates::Settings& settings) : settings_(settings) {}
  void update(Tensor& key_states, Tensor& value_states) override;

 private:
  void quantize(const Tensor& keys, const Tensor& values);

  QuantizedStates::Settings settings_;
  QuantizedStates quantized_keys_, quantized_values_;
};

class StaticLayer : public CacheLayer {
 public:
  explicit StaticLayer(std::int64_t length) : length_(length) {}
  void update(Tensor& key_states, Tensor& value_states) override;
  MaskSizes mask_sizes(std::int64_t) const override { return {length_, 0}; }
  void initialize_early(const Tensor& no_states) override { initialize(no_states, no_states); }
  void reorder(const Tensor& beam_idx) override;

 protected:
  void initialize(const Tensor& key_states, const Tensor& value_states);
  /// Writes the states with index_copy_ at the next positions.
  void write_in_place(std::int64_t tokens);

  std::int64_t length_;
  Tensor cumulative_length_;
};

class StaticSlidingWindowLayer final : public StaticLayer {
 public:
  StaticSlidingWindowLayer(std::int64_t length, std::int64_t window)
      : StaticLayer(std::min(length, window)) {}
  void update(Tensor& key_states, Tensor& value_states) override;
  MaskSizes mask_sizes(std::int64_t queries) const override;
  void reorder(const Tensor& beam_idx) override { CacheLayer::reorder(beam_idx); }

 private:
  void roll_in() const;
};

}  // namespace memtape::family
