// SPDX-License-Identifier: Apache-2.0
// Mamba's layers (src/models/mamba-base.cpp of llama.cpp), which hybrid architectures share.
#pragma once

#include "framework/llamacpp/graph_builder.h"

namespace memtape::llamacpp::arch {

/// Reads the sizes of the states. The architecture itself says which layers have them.
void read_mamba_sizes(Hyperparameters& hp, KeyReader& keys);
void read_mamba2_sizes(Hyperparameters& hp, KeyReader& keys);

void list_mamba_layer(const Hyperparameters& hp, std::int64_t il, WeightList& weights);
void list_mamba2_layer(const Hyperparameters& hp, std::int64_t il, WeightList& weights,
                       bool normed = true);

Tensor* mamba_layer(GraphBuilder& b, const RecurrentInputs& in, std::int64_t il, Tensor* x);
Tensor* mamba2_layer(GraphBuilder& b, const RecurrentInputs& in, std::int64_t il, Tensor* x);

}  // namespace memtape::llamacpp::arch
