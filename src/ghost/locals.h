// SPDX-License-Identifier: Apache-2.0
// The locals of a Python function when it returns: they go in the order in which their names first
// occur, arguments before others, while those of a C++ function go the other way round. It shows
// where neighbours in memory go together and the allocator keeps the Block of the last one
// (torch 2.12, c10/cuda/CUDACachingAllocator.cpp:try_merge_blocks).
#pragma once

#include "ghost/tensor.h"

namespace memtape::ghost {

template <class... Locals>
void leave(Locals&... locals) {
  (locals.reset(), ...);
}

}  // namespace memtape::ghost
