// SPDX-License-Identifier: Apache-2.0
// Slots: how code hands something down to code far below for as long as a scope lasts, without an
// argument in every call between. Each kind of thing has one pointer, which the session holds. So
// two sessions know nothing of each other, in whatever threads they run.
//
// A type that is handed down names its slot as `kSlot`; Given (ghost/given.h) puts it there.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace memtape::ghost {

enum class Slot : std::uint8_t {
  trace,
  kept_outputs,
  layer_states,
  attention_in_place,
  parametrized,
  activation_hooks,
  layer_frame,
  module_init,
  sequence_lengths,
  key_value_cache,
  forward_arguments,
  router_logits,
  packed_sequences,
  masks_for_generate,
  attention_calls,
  count
};

class Slots {
 public:
  /// What is in force; null if nothing is.
  template <class T>
  T* get() const {
    return static_cast<T*>(at_[index<T>()]);
  }
  /// Puts `value`, which may be null, in force and returns what was in force before.
  template <class T>
  T* exchange(T* value) {
    return static_cast<T*>(std::exchange(at_[index<T>()], value));
  }

 private:
  template <class T>
  static constexpr std::size_t index() {
    return static_cast<std::size_t>(T::kSlot);
  }
  std::array<void*, static_cast<std::size_t>(Slot::count)> at_{};
};

}  // namespace memtape::ghost
