// SPDX-License-Identifier: Apache-2.0
// What olmo2, olmoe and minimax-m2 share: an RMS norm over all rows of Q and of K before they are
// taken apart into heads.
#pragma once

#include "framework/llamacpp/arch/architectures.h"

namespace memtape::llamacpp::arch {

/// Q, K and V of layer `il`, normed as rows, reshaped, Q and K rotated.
Qkv heads_of_normed_rows(GraphBuilder& b, std::int64_t il, Tensor* x, Tensor* positions);

/// The whole graph of a model with such heads and experts in every layer.
void build_experts_on_normed_rows(GraphBuilder& b, const MoeSpec& experts);

}  // namespace memtape::llamacpp::arch
