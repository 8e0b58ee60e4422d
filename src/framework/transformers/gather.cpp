// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/gather.h"

#include "ghost/autograd/node.h"
#include "ghost/ops/copies.h"
#include "ghost/session.h"

namespace memtape::transformers {

using ghost::Op;
using ghost::Tensor;

Tensor gather(const Tensor& tensor, std::int64_t ranks) {
  if (ranks == 1) return tensor;
  ghost::Dims sizes = tensor.sizes();
  Tensor row = tensor;
  if (sizes.rank() == 0) {
    row = tensor.clone();
    sizes = ghost::Dims{1};
  }
  sizes[0] *= ranks;
  const Op op("empty", {});
  return ghost::empty(sizes, tensor.dtype(), Category::communication);
}

Tensor gather_repeated(const Tensor& loss, std::int64_t rows, std::int64_t ranks) {
  const ghost::Op op("repeat", {});
  const Tensor repeated = ghost::empty({rows}, loss.dtype());
  return gather(repeated, ranks);
}

void pad_across_processes(const Tensor& tensor, std::int64_t ranks) {
  if (tensor.dim() < 2) return;
  Tensor size;
  {
    const Op op("_to_copy", {});
    size = ghost::empty({1, static_cast<std::int64_t>(tensor.sizes().rank())}, DType::int64);
  }
  const Tensor sizes = gather(size, ranks);
}

}  // namespace memtape::transformers
