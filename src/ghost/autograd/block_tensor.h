// SPDX-License-Identifier: Apache-2.0
// Tensors over blocks that are already on the tape. When a stretch is appended instead of run, the
// code that continues from it gets tensors over the blocks that were appended.
#pragma once

#include "ghost/tensor.h"

namespace memtape::ghost {

/// The block that a tensor with memory lies in.
inline BlockId block_of(const Tensor& tensor) { return tensor.impl().storage->block; }

/// A storage of its own over `block`, whose last owner will free it.
Ptr<Storage> storage_of_block(BlockId block, StreamId stream);
/// A tensor like `model`, without its history, over `storage`.
Tensor tensor_over(const Ptr<Storage>& storage, const Tensor& model);
/// The only tensor of `block`.
Tensor tensor_of_block(BlockId block, StreamId stream, const Tensor& model);

}  // namespace memtape::ghost
