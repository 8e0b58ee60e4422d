// SPDX-License-Identifier: Apache-2.0
// torch.nn.utils.clip_grad_norm_ with foreach=True (torch/nn/utils/clip_grad.py).
#pragma once

#include <functional>
#include <vector>

#include "ghost/tensor.h"

namespace memtape::torch {

/// What a sharded tensor's op makes of the norms before their norm is taken.
using NormsOfAllRanks = std::function<ghost::Tensor(ghost::Tensor norms)>;

/// The norms of all gradients, their norm, and the scaling in place; gives the norm, undefined
/// where there is no gradient.
ghost::Tensor clip_grad_norm(const std::vector<ghost::Tensor>& parameters,
                             const NormsOfAllRanks& of_all_ranks = {});

}  // namespace memtape::torch
