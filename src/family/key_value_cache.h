// SPDX-License-Identifier: Apache-2.0
// DynamicCache of transformers 5.17 (cache_utils.py) for one forward: keys and values are copied
// into it and attended to there, and it lives as long as the model's outputs. A model has one when
// its configuration says use_cache: in training that is the text model of a vision-language model,
// whose own configuration is left at its default when the outer one's use_cache is turned off.
// Gradient checkpointing turns it off (merge_with_config_defaults).
#pragma once

#include <vector>

#include "family/pretrained.h"

namespace memtape::family {

class KeyValueCache {
 public:
  /// In force while it lives, if wanted.
  explicit KeyValueCache(bool wanted);
  ~KeyValueCache();
  KeyValueCache(const KeyValueCache&) = delete;
  KeyValueCache& operator=(const KeyValueCache&) = delete;

  static bool in_force();
  /// past_key_values.update of a layer's first tokens; nothing without a cache.
  static void update(Tensor& key_states, Tensor& value_states);

 private:
  KeyValueCache* outer_;
  std::vector<Tensor> kept_;
};

}  // namespace memtape::family
