// SPDX-License-Identifier: Apache-2.0
#include "ghost/ops/foreach.h"

#include <algorithm>

#include "ghost/autograd/node.h"
#include "ghost/ops/creation.h"
#include "release/torch_changes.h"

namespace memtape::ghost {
namespace {

constexpr std::int64_t kChunkSize = 65536;  // MultiTensorApply.cuh

}  // namespace

TensorList foreach_norm(const std::vector<Tensor>& tensors) {
  Op op("_foreach_norm", {});
  const auto count = static_cast<std::int64_t>(tensors.size());
  std::int64_t most_chunks = 0, all_chunks = 0;
  for (const Tensor& t : tensors) {
    most_chunks = std::max(most_chunks, ceil_div(t.numel(), kChunkSize));
    all_chunks += ceil_div(t.numel(), kChunkSize);
  }
  const bool packed = has(changes::kNormListHasOffsets);
  Tensor offsets;
  if (packed) offsets = empty({count + 1}, DType::int64);
  const Tensor partial = empty({packed ? all_chunks : count * most_chunks}, DType::float32);
  TensorList norms;
  norms.reserve(tensors.size());
  for (const Tensor& t : tensors) norms.push_back(empty({}, t.dtype()));
  return norms;
}

TensorList foreach_like(const char* name, const std::vector<Tensor>& tensors) {
  Op op(name, {});
  TensorList results;
  results.reserve(tensors.size());
  for (const Tensor& t : tensors) results.push_back(empty_like(t, t.dtype()));
  return results;
}

std::vector<std::vector<std::size_t>> grouped_by_dtype(const std::vector<Tensor>& tensors) {
  std::vector<std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    auto group = std::find_if(groups.begin(), groups.end(), [&](const std::vector<std::size_t>& g) {
      return tensors[g.front()].dtype() == tensors[i].dtype();
    });
    if (group == groups.end()) group = groups.insert(groups.begin(), {{}});
    group->push_back(i);
  }
  return groups;
}

TensorList at_places(const std::vector<Tensor>& tensors, const std::vector<std::size_t>& places) {
  TensorList found;
  found.reserve(places.size());
  for (std::size_t place : places) found.push_back(tensors[place]);
  return found;
}

}  // namespace memtape::ghost
