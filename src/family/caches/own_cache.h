// SPDX-License-Identifier: Apache-2.0
// OwnCache: the cache that a forward makes for itself in training: where the configuration keeps
// use_cache, nobody has passed one, and no layer is computed again (merge_with_config_defaults of
// transformers 5.17). The model's layers use it while it lives.
#pragma once

#include <utility>

#include "family/caches/key_value_cache.h"
#include "nn/module.h"

namespace memtape::family {

class OwnCache {
 public:
  OwnCache(bool use_cache, const nn::ModuleTree& tree, KeyValueCache::Settings settings = {})
      : past_key_values_(std::move(settings)),
        passed_(use_cache && !KeyValueCache::passed() &&
                        tree.gradient_checkpointing == nn::GradientCheckpointing::off
                    ? &past_key_values_
                    : KeyValueCache::passed()) {}

 private:
  KeyValueCache past_key_values_;
  KeyValueCache::Passed passed_;
};

}  // namespace memtape::family
