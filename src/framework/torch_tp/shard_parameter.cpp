// SPDX-License-Identifier: Apache-2.0
#include "framework/torch_tp/shard_parameter.h"

#include <vector>

#include "framework/torch_tp/redistribute.h"
#include "ghost/autograd/node.h"
#include "ghost/ops/views.h"
#include "ghost/session.h"
#include "mesh/shards.h"

namespace memtape::torch_tp {
namespace {

using ghost::Op;

/// _split_tensor_helper: pieces of equal size, packed; those that lie so already are views.
std::vector<Tensor> packed_pieces(const Tensor& whole, const Mesh& mesh, int dim) {
  const Op op("contiguous", {});
  Dims piece = whole.sizes();
  piece[dim] = padded_shard(whole.size(dim), mesh.size);
  std::vector<Tensor> pieces;
  for (std::int64_t i = 0; i < mesh.size; ++i) {
    const bool is_short = shard(whole.size(dim), mesh.size, i) < piece[dim];
    if (dim != 0 || is_short) pieces.push_back(ghost::empty(piece, whole.dtype()));
  }
  return pieces;
}

Tensor scatter(const Tensor& whole, const Mesh& mesh, int dim) {
  const std::vector<Tensor> pieces = packed_pieces(whole, mesh, dim);
  Dims sizes = whole.sizes();
  sizes[dim] = padded_shard(whole.size(dim), mesh.size);
  const Op op("scatter", {});
  Tensor output = ghost::empty(sizes, whole.dtype(), Category::parameter);
  const std::int64_t own = shard(whole.size(dim), mesh.size, mesh.rank);
  if (own == sizes[dim]) return output;
  sizes[dim] = own;  // _maybe_unpad_tensor_with_sizes: a view, copied where it has gaps
  if (ghost::numel(sizes) == 0) return ghost::empty(sizes, whole.dtype(), Category::parameter);
  if (dim == 0) return ghost::alias(output, sizes, output.strides());
  return ghost::empty(sizes, whole.dtype(), Category::parameter);
}

}  // namespace

Tensor shard_parameter(const Tensor& whole, const Mesh& mesh, int dim, bool scatters) {
  ghost::Session& s = ghost::session();
  const ghost::Storage* const storage = whole.impl().storage.get();
  const ghost::ScopeGuard scope(storage ? s.tape.why[storage->block].scope : s.scope);
  const ghost::GradMode no_grad(false);
  dim = ghost::wrap(dim, whole.dim());
  Tensor piece = scatters ? scatter(whole, mesh, dim) : select_shard(whole, mesh, dim);
  s.set_category(piece, Category::parameter);
  piece.impl().base.reset();
  piece.impl().requires_grad = whole.impl().requires_grad;
  return piece;
}

}  // namespace memtape::torch_tp
