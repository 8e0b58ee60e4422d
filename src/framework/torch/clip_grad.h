// SPDX-License-Identifier: Apache-2.0
// torch.nn.utils.clip_grad_norm_ with foreach=True (torch/nn/utils/clip_grad.py).
#pragma once

#include <functional>
#include <vector>

#include "ghost/tensor.h"

namespace memtape::torch {

/// What the op of a sharded tensor turns the norms into before their norm is taken.
using NormsOfAllRanks = std::function<ghost::Tensor(ghost::Tensor norms)>;

/// Takes the norms of all gradients and the norm of these, and scales the gradients in place. It
/// returns the total norm, which is undefined if there are no gradients.
ghost::Tensor clip_grad_norm(const std::vector<ghost::Tensor>& parameters,
                             const NormsOfAllRanks& of_all_ranks = {});

}  // namespace memtape::torch
