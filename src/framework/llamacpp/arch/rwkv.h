// SPDX-License-Identifier: Apache-2.0
// What RWKV 6 and 7 share: layers with two parts, time mixing and channel mixing, which see the
// token before each token, and a state for each head (rwkv6-base.cpp, rwkv7-base.cpp of llama.cpp).
#pragma once

#include "framework/llamacpp/arch/architectures.h"

namespace memtape::llamacpp::arch {

/// The normed input of a layer, and the same shifted by one token.
struct Shifted {
  Tensor *x, *before;
};

struct RwkvParts {
  /// Works on all sequences, by tokens and sequences.
  Tensor* (*time_mix)(GraphBuilder& b, const RecurrentInputs& in, std::int64_t il, Shifted of,
                      Tensor*& first_values);
  /// Works on rows.
  Tensor* (*channel_mix)(GraphBuilder& b, std::int64_t il, Shifted of);
};

void read_rwkv(Hyperparameters& hp, KeyReader& keys);
/// Lists norms and embeddings. Each version lists the weights of its own parts.
void list_rwkv(const Hyperparameters& hp, WeightList& weights,
               void (*parts)(const Hyperparameters&, std::int64_t, WeightList&));
void build_rwkv(GraphBuilder& b, const RwkvParts& parts);

/// The output of a recurrence as rows. The states that follow it go back to the cache.
Tensor* without_states(GraphBuilder& b, std::int64_t il, Tensor* recurrence);
/// Norms `x` head by head.
Tensor* head_norm(GraphBuilder& b, std::int64_t il, Tensor* x);

}  // namespace memtape::llamacpp::arch
