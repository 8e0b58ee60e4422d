// SPDX-License-Identifier: Apache-2.0
// Gated delta nets and gated attention (src/models/delta-net-base.cpp, qwen35.cpp of llama.cpp),
// which the hybrid Qwen models share.
#pragma once

#include "framework/llamacpp/graph_builder.h"

namespace memtape::llamacpp::arch {

/// Reads the sizes of the states, and which layers are recurrent.
void read_delta_net(Hyperparameters& hp, KeyReader& keys);

void list_delta_net(const Hyperparameters& hp, std::int64_t il, WeightList& weights);
void list_gated_attention(const Hyperparameters& hp, std::int64_t il, WeightList& weights);

/// Returns the output, followed in the same tensor by the new states, which go back to the cache.
Tensor* delta_net(GraphBuilder& b, std::int64_t il, const ggml::Graph::DeltaNet& net);
Tensor* delta_net_layer(GraphBuilder& b, const RecurrentInputs& in, std::int64_t il, Tensor* x);
Tensor* gated_attention(GraphBuilder& b, const AttentionInputs& in, std::int64_t il, Tensor* x,
                        Tensor* positions);

}  // namespace memtape::llamacpp::arch
