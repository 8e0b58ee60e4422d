// SPDX-License-Identifier: Apache-2.0
// TensorList: a Python list of tensors, as an op on many tensors returns it or an optimizer holds
// it. Tensors that are let go at once are freed from the last to the first, as CPython frees the
// items of a list (Objects/listobject.c:list_dealloc): the order decides what the allocator merges
// and hands out next.
//
// A plain std::vector leaves the order to the standard library: libstdc++ destroys from the first
// element, as PyTorch's own lists in C++ are destroyed, and libc++ (the wheels, the page) from the
// last.
#pragma once

#include <utility>
#include <vector>

#include "ghost/tensor.h"

namespace memtape::ghost {

class TensorList : public std::vector<Tensor> {
 public:
  using std::vector<Tensor>::vector;
  TensorList() = default;
  TensorList(std::vector<Tensor> tensors) : std::vector<Tensor>(std::move(tensors)) {}
  TensorList(const TensorList&) = default;
  TensorList(TensorList&&) noexcept = default;
  TensorList& operator=(TensorList other) noexcept {
    swap(other);
    return *this;
  }
  ~TensorList() { clear(); }

  void clear() {
    while (!empty()) pop_back();
  }
};

}  // namespace memtape::ghost
