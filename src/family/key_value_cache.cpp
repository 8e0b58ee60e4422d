// SPDX-License-Identifier: Apache-2.0
#include "family/key_value_cache.h"

#include <utility>

#include "ghost/ops/creation.h"
#include "ghost/ops/joins.h"

namespace memtape::family {
namespace {

thread_local KeyValueCache* current = nullptr;

}  // namespace

KeyValueCache::KeyValueCache(bool wanted)
    : outer_(std::exchange(current, wanted ? this : nullptr)) {}
KeyValueCache::~KeyValueCache() { current = outer_; }

bool KeyValueCache::in_force() { return current != nullptr; }

/// DynamicLayer.lazy_initialization and update: cat of what is there, at first an empty tensor of
/// the keys' dtype for both, and the new states.
void KeyValueCache::update(Tensor& key_states, Tensor& value_states) {
  if (!current) return;
  const Tensor none = ghost::zeros({0}, key_states.dtype());
  const Tensor keys = ghost::cat({none, key_states}, -2);
  const Tensor values = ghost::cat({none, value_states}, -2);
  current->kept_.push_back(keys);
  current->kept_.push_back(values);
  key_states = keys;
  value_states = values;
}

}  // namespace memtape::family
