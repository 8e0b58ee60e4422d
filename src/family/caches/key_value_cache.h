// SPDX-License-Identifier: Apache-2.0
// KeyValueCache: the past_key_values of transformers 5.17 (cache_utils.py), a layer of it per layer
// of the model. A dynamic layer grows by concatenation; a static one is allocated once for the
// longest sequence and written into; either may keep a sliding window only. An offloaded cache
// keeps its layers in host memory and brings each back, on a stream of its own, while the one
// before it runs. A layer of linear attention holds states of fixed size instead.
//
// Training has one, too, where a configuration says use_cache: the text model of a vision-language
// model, whose own configuration is left at its default when the outer one's use_cache is turned
// off. Gradient checkpointing turns it off (merge_with_config_defaults).
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "family/caches/quantized_states.h"
#include "family/pretrained.h"
#include "ghost/autograd/layer_states.h"
#include "ghost/given.h"

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
  /// reorder_cache: row `beam_idx[i]` takes the place of row i.
  virtual void reorder(const Tensor& beam_idx);
  /// crop: the last tokens are forgotten, and a window is cut back to its size.
  virtual void crop(std::int64_t tokens);
  /// lazy_initialization before the first states are there; `no_states` are keys of no tokens.
  virtual void initialize_early(const Tensor& /*no_states*/) {}
  /// What it holds of keys and values.
  std::vector<Tensor*> held() { return {&keys_, &values_}; }
  /// To host memory, and back.
  void offload();
  void prefetch();
  /// Tokens seen so far.
  std::int64_t seen = 0;

 protected:
  Tensor keys_, values_;

 private:
  /// What an offloaded layer comes back as.
  struct Offloaded {
    Dims keys, values;
    DType dtype;
  };
  std::optional<Offloaded> offloaded_;
};

/// A layer of linear attention (LinearAttentionLayer): the last inputs of its convolution, and the
/// state that it ended with.
class LinearLayer {
 public:
  bool has_previous_state() const { return conv_states.defined(); }
  /// What the convolution sees takes the place of the new inputs: padded where there are too few,
  /// or behind those that were held.
  void update_conv_state(Tensor& inputs, std::int64_t conv_kernel_size);
  void update_recurrent_state(const Tensor& state);
  void reorder(const Tensor& beam_idx);

  Tensor conv_states, recurrent_states;
};

enum class CacheKind { dynamic, fixed, quantized };

class KeyValueCache : public ghost::LayerStates {
 public:
  static constexpr ghost::Slot kSlot = ghost::Slot::key_value_cache;
  struct Settings {
    CacheKind kind = CacheKind::dynamic;
    std::int64_t max_length = 0;                ///< of a fixed cache
    std::vector<std::int64_t> sliding_windows;  ///< by layer, 0 for none; empty: none slides
    bool offloads = false;  ///< layers go to host memory; of a fixed cache, those that do not slide
    std::int64_t layers = 0;                   ///< how many have keys and values
    QuantizedStates::Settings quantized = {};  ///< of a quantized cache
    bool records_past = false;  ///< activate_past_recording: windows are cut by crop, not by update
  };
  explicit KeyValueCache(Settings settings) : settings_(std::move(settings)) {}
  KeyValueCache(const KeyValueCache&) = delete;
  KeyValueCache& operator=(const KeyValueCache&) = delete;

  /// What a model's forward gets as past_key_values, layer by layer, while it lives.
  class Passed {
   public:
    explicit Passed(KeyValueCache* cache);

   private:
    ghost::Given<KeyValueCache> cache_;
    ghost::Given<ghost::LayerStates> states_;
  };

  bool repeats(std::size_t layers) const override;
  bool is_at(std::size_t layer) const override { return next_ == layer; }
  std::vector<Tensor*> held(std::size_t layer) override { return layers_[layer]->held(); }
  void follow(std::size_t layer, std::size_t model) override;

  /// The one that was passed, or null.
  static KeyValueCache* passed() { return ghost::given_here<KeyValueCache>(); }
  /// past_key_values.update of the next layer; nothing without a cache.
  static void update(Tensor& key_states, Tensor& value_states);
  /// The next layer of linear attention; null without a cache.
  static LinearLayer* linear_layer();

  bool is_fixed() const { return settings_.kind == CacheKind::fixed; }
  std::int64_t seen() const { return layers_.empty() ? 0 : layers_.front()->seen; }
  /// Of the first layer that slides, or of the first that does not (the very first if none is so).
  MaskSizes mask_sizes(bool sliding, std::int64_t queries) const;
  /// Past tokens are a number on the device once a fixed layer exists.
  bool counts_on_device() const { return is_fixed() && !layers_.empty(); }
  bool holds_anything() const { return !layers_.empty() || !linear_layers_.empty(); }
  void reorder(const Tensor& beam_idx);
  /// crop(-tokens) of every layer; the cache records the past.
  void crop(std::int64_t tokens);
  /// early_initialization: the layers of a fixed cache before the first pass, with keys and values
  /// of [sequences, heads, length, head_dim].
  void initialize_early(std::int64_t sequences, std::int64_t heads, std::int64_t head_dim,
                        DType dtype);

 private:
  std::unique_ptr<CacheLayer> make_layer(std::size_t layer) const;
  std::int64_t window(std::size_t layer) const;
  void update_next(Tensor& key_states, Tensor& value_states);
  void prefetch(std::size_t layer);

  Settings settings_;
  std::vector<std::unique_ptr<CacheLayer>> layers_;
  std::vector<std::unique_ptr<LinearLayer>> linear_layers_;
  std::size_t next_ = 0, next_linear_ = 0;  ///< the layers that update next
  StreamId prefetch_stream_ = 0;
};

}  // namespace memtape::family
