// SPDX-License-Identifier: Apache-2.0
#include "ghost/ops/foreach.h"

#include <algorithm>

#include "ghost/autograd/node.h"

namespace memtape::ghost {
namespace {

constexpr std::int64_t kChunkSize = 65536;  // MultiTensorApply.cuh

}  // namespace

std::vector<Tensor> foreach_norm(const std::vector<Tensor>& tensors) {
  Op op("_foreach_norm", {});
  std::int64_t most_chunks = 0;
  for (const Tensor& t : tensors) most_chunks = std::max(most_chunks, ceil_div(t.numel(), kChunkSize));
  const Tensor partial = empty({static_cast<std::int64_t>(tensors.size()) * most_chunks}, DType::float32);
  std::vector<Tensor> norms;
  for (const Tensor& t : tensors) norms.push_back(empty({}, t.dtype()));
  return norms;
}

}  // namespace memtape::ghost
