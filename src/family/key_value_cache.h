// SPDX-License-Identifier: Apache-2.0
// KeyValueCache: the past_key_values of transformers 5.17 (cache_utils.py), a layer of it per layer
// of the model. A dynamic layer grows by concatenation; a static one is allocated once for the
// longest sequence and written into; either may keep a sliding window only.
//
// Training has one, too, where a configuration says use_cache: the text model of a vision-language
// model, whose own configuration is left at its default when the outer one's use_cache is turned
// off. Gradient checkpointing turns it off (merge_with_config_defaults).
#pragma once

#include <memory>
#include <vector>

#include "family/pretrained.h"

namespace memtape::family {

/// get_mask_sizes: how many keys a pass attends to, and the position of the first.
struct MaskSizes {
  std::int64_t kv_length = 0, kv_offset = 0;
};

/// One layer's keys and values.
class CacheLayer {
 public:
  virtual ~CacheLayer() = default;
  /// Takes the new states in; what is attended to takes their place.
  virtual void update(Tensor& key_states, Tensor& value_states) = 0;
  virtual MaskSizes mask_sizes(std::int64_t queries) const = 0;
  /// Tokens seen so far.
  std::int64_t seen = 0;
};

enum class CacheKind { dynamic, fixed };

class KeyValueCache {
 public:
  struct Settings {
    CacheKind kind = CacheKind::dynamic;
    std::int64_t max_length = 0;                ///< of a fixed cache
    std::vector<std::int64_t> sliding_windows;  ///< by layer, 0 for none; empty: none slides
  };
  explicit KeyValueCache(Settings settings) : settings_(std::move(settings)) {}
  KeyValueCache(const KeyValueCache&) = delete;
  KeyValueCache& operator=(const KeyValueCache&) = delete;

  /// What a model's forward gets as past_key_values, layer by layer, while it lives.
  class Passed {
   public:
    explicit Passed(KeyValueCache* cache);
    ~Passed();
    Passed(const Passed&) = delete;
    Passed& operator=(const Passed&) = delete;

   private:
    KeyValueCache* outer_;
  };

  /// The one that was passed, or null.
  static KeyValueCache* passed();
  /// past_key_values.update of the next layer; nothing without a cache.
  static void update(Tensor& key_states, Tensor& value_states);
  /// The same of a linear layer's first pass (LinearAttentionLayer): the last inputs of its
  /// convolution, which may have to be padded, and the state it ends with.
  static void update_conv_state(Tensor& conv_states, std::int64_t conv_kernel_size);
  static void update_recurrent_state(const Tensor& recurrent_states);

  bool is_fixed() const { return settings_.kind == CacheKind::fixed; }
  std::int64_t seen() const { return layers_.empty() ? 0 : layers_.front()->seen; }
  /// Of the first layer that slides, or of the first that does not (the very first if none is so).
  MaskSizes mask_sizes(bool sliding, std::int64_t queries) const;
  /// Past tokens are a number on the device once a fixed layer exists.
  bool counts_on_device() const { return is_fixed() && !layers_.empty(); }
  std::size_t layers() const { return layers_.size(); }

 private:
  std::unique_ptr<CacheLayer> make_layer(std::size_t layer) const;
  std::int64_t window(std::size_t layer) const;

  Settings settings_;
  std::vector<std::unique_ptr<CacheLayer>> layers_;
  std::size_t next_ = 0;  ///< the layer that updates next
  std::vector<Tensor> linear_states_;
};

}  // namespace memtape::family
