// SPDX-License-Identifier: Apache-2.0
// What lies between the products of a layer: activations of the MLP, bias-dropout-add and rotary
// embeddings. Megatron fuses each of them by torch.compile, so that a node keeps its inputs and
// nothing in between (megatron/core/fusions).
#pragma once

#include <cstdint>

#include "framework/megatron/arguments.h"
#include "framework/megatron/function.h"

namespace memtape::megatron {

/// What an expert has between its products. Each row is multiplied by its token's weight, either
/// inside of swiglu's kernel (weighted_bias_swiglu) or after it.
Tensor weighted_activation(const Arguments& a, const Tensor& x, const Tensor& bias,
                           const Tensor& weights);

/// How many times its width an MLP's first product makes: twice where a gate is beside it.
std::int64_t gate_factor(const Arguments& a);

/// The MLP's activation of [.., 2f] (gated) or [.., f]. `bias` may be undefined.
Tensor activation(const Arguments& a, const Tensor& x, const Tensor& bias);

/// bias_dropout_add: dropout(x + bias) + residual. The compiled form keeps only the mask.
Tensor bias_dropout_add(double rate, const Tensor& x, const Tensor& bias, const Tensor& residual);

/// apply_rotary_pos_emb. `freqs` is [s, 1, 1, d] in float32.
Tensor rotary(const Arguments& a, const Tensor& t, const Tensor& freqs);

}  // namespace memtape::megatron
