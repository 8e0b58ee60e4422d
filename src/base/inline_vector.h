// SPDX-License-Identifier: Apache-2.0
// InlineVector<T, N>: a vector whose first N elements need no allocation. Nearly all nodes of the
// autograd graph have one to three edges and one gradient, and a training step makes tens of
// thousands of nodes.
#pragma once

#include <array>
#include <cstddef>
#include <utility>
#include <vector>

namespace memtape {

template <class T, std::size_t N>
class InlineVector {
 public:
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  T& operator[](std::size_t i) { return i < N ? inline_[i] : more_[i - N]; }
  const T& operator[](std::size_t i) const { return i < N ? inline_[i] : more_[i - N]; }

  void push_back(T value) {
    if (size_ < N)
      inline_[size_] = std::move(value);
    else
      more_.push_back(std::move(value));
    ++size_;
  }
  void resize(std::size_t n) {
    for (std::size_t i = n; i < size_ && i < N; ++i) inline_[i] = T{};
    more_.resize(n > N ? n - N : 0);
    size_ = n;
  }
  void clear() { resize(0); }

 private:
  std::array<T, N> inline_{};
  std::vector<T> more_;
  std::size_t size_ = 0;
};

}  // namespace memtape
