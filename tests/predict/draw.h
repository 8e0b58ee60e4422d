// SPDX-License-Identifier: Apache-2.0
// What a test of drawn steps draws: the same for the same seed.
#pragma once

#include <cstddef>
#include <random>

namespace memtape {

class Draw {
 public:
  explicit Draw(unsigned seed) : random_(seed) {}
  template <class T, std::size_t N>
  T of(const T (&values)[N]) {
    return values[random_() % N];
  }
  bool coin() { return one_in(2); }
  bool one_in(unsigned n) { return random_() % n == 0; }

 private:
  std::mt19937 random_;
};

}  // namespace memtape
