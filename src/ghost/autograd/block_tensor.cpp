// SPDX-License-Identifier: Apache-2.0
#include "ghost/autograd/block_tensor.h"

namespace memtape::ghost {

Ptr<Storage> storage_of_block(BlockId block, StreamId stream) {
  auto* storage = new (Pool::take(sizeof(Storage))) Storage;
  storage->block = block;
  storage->stream = stream;
  return Ptr<Storage>(storage);
}

Tensor tensor_over(const Ptr<Storage>& storage, const Tensor& model) {
  auto* impl = make_impl();
  impl->dtype = model.dtype();
  impl->sizes = model.sizes();
  impl->strides = model.strides();
  impl->storage = storage;
  return Tensor(Ptr<TensorImpl>(impl));
}

Tensor tensor_of_block(BlockId block, StreamId stream, const Tensor& model) {
  return tensor_over(storage_of_block(block, stream), model);
}

}  // namespace memtape::ghost
