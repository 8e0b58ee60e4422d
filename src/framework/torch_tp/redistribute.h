// SPDX-License-Identifier: Apache-2.0
// Redistribute: takes a local tensor from one placement to another (_redistribute.py), with the
// blocks that torch's functional collectives take (_functional_collectives.py). A gather or a
// reduction along another dimension than the first goes through a copy, an all-reduce works on a
// clone, and uneven pieces are padded.
#pragma once

#include "framework/torch_tp/placement.h"
#include "ghost/tensor.h"

namespace memtape::torch_tp {

using ghost::Dims;
using ghost::Tensor;

/// One change of placement. `whole` is the size of the sharded dimension before it is divided.
struct Redistribution {
  Mesh mesh;
  Placement from, to;
  std::int64_t whole = 0;
  /// The gradient comes as summands, because each GPU computes it from its piece of the weights.
  bool gradient_is_partial = false;
  /// Nobody waits for it, so the input of a reduction lives until its result is read.
  bool async = false;
};

/// redistribute_local_tensor, without history.
Tensor redistribute_local(const Tensor& local, const Redistribution& change);

/// DTensor.redistribute: the same as a node of the graph, whose backward goes the opposite way.
Tensor redistribute(const Tensor& local, const Redistribution& change);

/// DTensor.from_local. Forward is the identity. In backward, a partial gradient of a replicated
/// tensor is all-reduced.
Tensor from_local(const Tensor& local, const Mesh& mesh, bool adds_up_gradient);

/// DTensor.to_local: an identity.
Tensor to_local(const Tensor& local);

/// This GPU's piece of a whole tensor, as a separate tensor.
Tensor select_shard(const Tensor& whole, const Mesh& mesh, int dim);

}  // namespace memtape::torch_tp
