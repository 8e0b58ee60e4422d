// SPDX-License-Identifier: Apache-2.0
// What lies between the products of a layer: activations of the MLP, bias-dropout-add, rotary
// embeddings. Megatron fuses each by torch.compile, so that a node keeps its inputs and nothing in
// between (megatron/core/fusions).
#pragma once

#include "framework/megatron/arguments.h"
#include "framework/megatron/function.h"

namespace memtape::megatron {

/// What an expert has between its products: each row times its token's weight, within the kernel of
/// swiglu (weighted_bias_swiglu) or after it.
Tensor weighted_activation(const Arguments& a, const Tensor& x, const Tensor& bias,
                           const Tensor& weights);

/// The MLP's activation of [.., 2f] (gated) or [.., f]; `bias` may be undefined.
Tensor activation(const Arguments& a, const Tensor& x, const Tensor& bias);

/// bias_dropout_add: dropout(x + bias) + residual. The compiled form keeps the mask alone.
Tensor bias_dropout_add(double rate, const Tensor& x, const Tensor& bias, const Tensor& residual);

/// apply_rotary_pos_emb; `freqs` [s, 1, 1, d] in float32.
Tensor rotary(const Arguments& a, const Tensor& t, const Tensor& freqs);

}  // namespace memtape::megatron
