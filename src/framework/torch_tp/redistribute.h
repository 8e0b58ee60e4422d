// SPDX-License-Identifier: Apache-2.0
// Redistribute: a local tensor taken from one placement to another (_redistribute.py), with the
// blocks that torch's functional collectives take (_functional_collectives.py): a gather or a
// reduction along another dimension than the first goes through a copy, an all-reduce works on a
// clone, uneven pieces are padded.
#pragma once

#include "framework/torch_tp/placement.h"
#include "ghost/tensor.h"

namespace memtape::torch_tp {

using ghost::Dims;
using ghost::Tensor;

/// One change of placement. `whole`: the size of the sharded dimension before it is cut.
struct Redistribution {
  Mesh mesh;
  Placement from, to;
  std::int64_t whole = 0;
  /// The gradient comes as summands: each GPU's is made of its piece of the weights.
  bool gradient_is_partial = false;
  /// Not waited for: what a reduction was given lives until its result is read.
  bool async = false;
};

/// redistribute_local_tensor, without history.
Tensor redistribute_local(const Tensor& local, const Redistribution& change);

/// DTensor.redistribute: the same as a node of the graph, whose backward goes the other way.
Tensor redistribute(const Tensor& local, const Redistribution& change);

/// DTensor.from_local. Forward is the identity. In backward, a partial gradient of a replicated
/// tensor is all-reduced.
Tensor from_local(const Tensor& local, const Mesh& mesh, bool adds_up_gradient);

/// DTensor.to_local: an identity.
Tensor to_local(const Tensor& local);

/// This GPU's piece of a whole tensor, as a tensor of its own.
Tensor select_shard(const Tensor& whole, const Mesh& mesh, int dim);

}  // namespace memtape::torch_tp
