// SPDX-License-Identifier: Apache-2.0
#include "framework/torch_cp/context.h"

#include <utility>

#include "ghost/autograd/node.h"
#include "ghost/ops/views.h"
#include "ghost/session.h"

namespace memtape::torch_cp {

using ghost::Dims;
using ghost::Op;
using ghost::Tensor;

/// The buffers in the balanced order, cut, and copied back into their own storage, which stays as
/// large as it was (resize_ to less). The generator's frame holds buffers, shards and the last copy
/// until the context is left.
void Context::enter(std::vector<ContextBuffer> buffers) {
  const ghost::GradMode no_grad(false);
  for (const ContextBuffer& buffer : buffers)
    if (buffer.restored) {
      const Op op("clone", {});
      held_.push_back(ghost::empty(buffer.tensor->sizes(), buffer.tensor->dtype()));
    }
  {
    const Op op("gather", {});
    const std::int64_t tokens = buffers.front().tensor->size(buffers.front().dim);
    const Tensor indices = ghost::empty({tokens}, DType::int32);
    for (const ContextBuffer& buffer : buffers) {
      const Tensor rearranged = ghost::empty(buffer.tensor->sizes(), buffer.tensor->dtype());
      held_.push_back(
          ghost::empty(cut(buffer.tensor->sizes(), buffer.dim), buffer.tensor->dtype()));
    }
  }
  Tensor shard;
  for (const ContextBuffer& buffer : buffers) {
    shard.reset();
    const Op op("clone", {});
    shard = ghost::empty(cut(buffer.tensor->sizes(), buffer.dim), buffer.tensor->dtype());
    held_.push_back(*buffer.tensor);
    if (buffer.restored) originals_.push_back({buffer, *buffer.tensor});
    *buffer.tensor = ghost::alias(*buffer.tensor, shard.sizes(), shard.strides());
  }
  held_.push_back(shard);
  attention_.emplace(ring_);
}

Dims Context::cut(Dims sizes, int dim) const {
  sizes[dim] /= ring_.size;
  return sizes;
}

void Context::leave() {
  attention_.reset();
  held_.clear();
  for (Original& original : originals_) *original.buffer.tensor = std::move(original.whole);
  originals_.clear();
}

void Context::leave_after_backward(const Tensor& loss) {
  if (!loss.impl().grad_fn) return leave();  // the run has failed
  loss.impl().grad_fn->add_hooks().before.push_back([this](ghost::Gradients&) {
    auto* const callbacks = ghost::session().final_callbacks;
    callbacks->push_back([this, callbacks] { callbacks->push_back([this] { leave(); }); });
  });
}

}  // namespace memtape::torch_cp
