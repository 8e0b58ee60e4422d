// SPDX-License-Identifier: Apache-2.0
// The second embedding of gemma3n and gemma4. Each layer has its own part of it, which is mixed
// with a projection of the first embedding.
#pragma once

#include "framework/llamacpp/arch/architectures.h"

namespace memtape::llamacpp::arch {

void list_per_layer_inputs(const Hyperparameters& hp, WeightList& weights);
/// Lists the weights with which layer `il` uses its part.
void list_per_layer_gate(const Hyperparameters& hp, std::int64_t il, WeightList& weights);

/// The parts of all layers: [n_embd_per_layer, tokens, layers].
Tensor* per_layer_inputs(GraphBuilder& b, Tensor* embedded);
/// One of the matrices that follow each other in `x`.
Tensor* slice(GraphBuilder& b, Tensor* x, std::int64_t index);
/// `x`, gated by the layer's part and projected back.
Tensor* per_layer_part(GraphBuilder& b, std::int64_t il, Tensor* x, Tensor* parts);

}  // namespace memtape::llamacpp::arch
