// SPDX-License-Identifier: Apache-2.0
// What dispatch does to a gradient that an op of the backward cannot take in its placement
// (torch/distributed/tensor/_dispatch.py, redistribute_local_args): the op works on a copy, in
// which the summands are added up or which is made a summand. The copy is freed together with the
// original once the op is done.
#pragma once

#include "ghost/tensor.h"

namespace memtape::torch_tp {

enum class Copied { all_reduced, partitioned };

/// The backward of the op that made `output` gets such a copy of its gradient.
void copy_gradient_of(const ghost::Tensor& output, Copied how);

/// Returns `x`, whose gradient through this use is whole while those of its other uses are
/// summands. It is made a summand before they are added up.
ghost::Tensor with_partitioned_gradient(const ghost::Tensor& x);

}  // namespace memtape::torch_tp
