// SPDX-License-Identifier: Apache-2.0
// KeyValueCache: the past_key_values of transformers 5.17 (cache_utils.py), with one cache layer
// for each layer of the model. A dynamic layer grows by concatenation; a static one is allocated
// once for the longest sequence and written into; either may keep only a sliding window. An
// offloaded cache keeps its layers in host memory and brings each one back on a stream of its own
// while the layer before it runs. A layer of linear attention holds states of a fixed size instead.
//
// Training has a cache, too, if a configuration says use_cache. That is so in the text model of a
// vision-language model: when the outer configuration's use_cache is turned off, the inner one
// keeps its default. Gradient checkpointing turns it off (merge_with_config_defaults).
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
  /// Stores the new states, and replaces them by the states that are attended to.
  virtual void update(Tensor& key_states, Tensor& value_states) = 0;
  virtual MaskSizes mask_sizes(std::int64_t queries) const = 0;
  /// reorder_cache: row `beam_idx[i]` becomes row i.
  virtual void reorder(const Tensor& beam_idx);
  /// crop: forgets the last tokens and cuts a window back to its size.
  virtual void crop(std::int64_t tokens);
  /// lazy_initialization before the first states exist; `no_states` are keys of zero tokens.
  virtual void initialize_early(const Tensor& /*no_states*/) {}
  /// The keys and values that it holds.
  std::vector<Tensor*> held() { return {&keys_, &values_}; }
  /// Moves them to host memory, and back.
  void offload();
  void prefetch();
  /// Tokens seen so far.
  std::int64_t seen = 0;

 protected:
  Tensor keys_, values_;

 private:
  /// The sizes and the dtype with which an offloaded layer comes back.
  struct Offloaded {
    Dims keys, values;
    DType dtype;
  };
  std::optional<Offloaded> offloaded_;
};

/// A layer of linear attention (LinearAttentionLayer): the last inputs of its convolution and its
/// final state.
class LinearLayer {
 public:
  bool has_previous_state() const { return conv_states.defined(); }
  /// Replaces the new inputs by what the convolution sees: the inputs padded if there are too few,
  /// or joined behind those that were held.
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
    std::int64_t max_length = 0;  ///< of a fixed cache
    std::vector<std::int64_t>
        sliding_windows;  ///< one per layer, 0 for none; empty if no layer slides
    bool offloads =
        false;  ///< layers go to host memory; in a fixed cache only those that do not slide
    std::int64_t layers = 0;                   ///< how many have keys and values
    QuantizedStates::Settings quantized = {};  ///< of a quantized cache
    bool records_past = false;  ///< activate_past_recording: crop cuts windows, update does not
  };
  explicit KeyValueCache(Settings settings) : settings_(std::move(settings)) {}
  KeyValueCache(const KeyValueCache&) = delete;
  KeyValueCache& operator=(const KeyValueCache&) = delete;

  /// While it lives, the model's forward gets the cache as past_key_values and uses it layer by
  /// layer.
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

  /// The cache that was passed, or null.
  static KeyValueCache* passed() { return ghost::given_here<KeyValueCache>(); }
  /// past_key_values.update of the next layer; does nothing without a cache.
  static void update(Tensor& key_states, Tensor& value_states);
  /// The next layer of linear attention; null without a cache.
  static LinearLayer* linear_layer();

  bool is_fixed() const { return settings_.kind == CacheKind::fixed; }
  std::int64_t seen() const { return layers_.empty() ? 0 : layers_.front()->seen; }
  /// The sizes of the first layer that slides, or of the first that does not. If there is no such
  /// layer, those of the first layer.
  MaskSizes mask_sizes(bool sliding, std::int64_t queries) const;
  /// Whether the number of past tokens lies on the device: it does as soon as a fixed layer exists.
  bool counts_on_device() const { return is_fixed() && !layers_.empty(); }
  bool holds_anything() const { return !layers_.empty() || !linear_layers_.empty(); }
  void reorder(const Tensor& beam_idx);
  /// Calls crop(-tokens) of every layer. The cache must record the past.
  void crop(std::int64_t tokens);
  /// early_initialization: makes the layers of a fixed cache before the first pass, with keys and
  /// values of [sequences, heads, length, head_dim].
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
