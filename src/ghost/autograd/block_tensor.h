// SPDX-License-Identifier: Apache-2.0
// Tensors of blocks that the tape has already: what is written down again, not run, gives those who
// go on from it tensors of the blocks that it wrote.
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
