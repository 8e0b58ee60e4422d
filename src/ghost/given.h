// SPDX-License-Identifier: Apache-2.0
// Given: puts a value into its slot of the current session (ghost/slots.h) for as long as it lives,
// and restores what was there before. It must not outlive the session.
//
//     KeyValueCache cache;
//     const Given<KeyValueCache> given(&cache);
//     ... given_here<KeyValueCache>() ...   // anywhere below
#pragma once

#include "ghost/session.h"

namespace memtape::ghost {

template <class T>
class Given {
 public:
  /// `value` may be null: then nothing is in force.
  explicit Given(T* value) : slots_(session().slots), outer_(slots_.exchange(value)) {}
  ~Given() { slots_.exchange(outer_); }
  Given(const Given&) = delete;
  Given& operator=(const Given&) = delete;

  /// What was in force before.
  T* outer() const { return outer_; }

 private:
  Slots& slots_;
  T* outer_;
};

/// What is in force in the current session; null if nothing is.
template <class T>
T* given_here() {
  return session().slots.get<T>();
}

}  // namespace memtape::ghost
