// SPDX-License-Identifier: Apache-2.0
// distribute_tensor: a parameter that every GPU built whole becomes this GPU's piece
// (Shard._shard_tensor). Scattering makes packed pieces for all GPUs first; cutting locally copies
// just one.
#pragma once

#include "framework/torch_tp/placement.h"
#include "ghost/tensor.h"

namespace memtape::torch_tp {

/// The piece along `dim`, a parameter of its own.
ghost::Tensor shard_parameter(const ghost::Tensor& whole, const Mesh& mesh, int dim, bool scatters);

}  // namespace memtape::torch_tp
