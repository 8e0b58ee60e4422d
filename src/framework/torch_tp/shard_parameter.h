// SPDX-License-Identifier: Apache-2.0
// distribute_tensor: a parameter that every GPU has built whole becomes this GPU's piece
// (Shard._shard_tensor). Scattering first makes packed pieces for all GPUs; dividing locally copies
// only one piece.
#pragma once

#include "framework/torch_tp/placement.h"
#include "ghost/tensor.h"

namespace memtape::torch_tp {

/// The piece along `dim`, as a separate parameter.
ghost::Tensor shard_parameter(const ghost::Tensor& whole, const Mesh& mesh, int dim, bool scatters);

}  // namespace memtape::torch_tp
