// SPDX-License-Identifier: Apache-2.0
// What RWKV 6 and 7 share: layers of two parts, time mixing and channel mixing, that see the token
// before each token, and a state for each head (rwkv6-base.cpp, rwkv7-base.cpp of llama.cpp).
#pragma once

#include "framework/llamacpp/arch/architectures.h"

namespace memtape::llamacpp::arch {

/// A layer's input, normed, and the same one token earlier.
struct Shifted {
  Tensor *x, *before;
};

struct RwkvParts {
  /// Of all sequences, by tokens and sequences.
  Tensor* (*time_mix)(GraphBuilder& b, const RecurrentInputs& in, std::int64_t il, Shifted of,
                      Tensor*& first_values);
  /// Of rows.
  Tensor* (*channel_mix)(GraphBuilder& b, std::int64_t il, Shifted of);
};

void read_rwkv(Hyperparameters& hp, KeyReader& keys);
/// Norms and embeddings; the parts' own weights are the versions'.
void list_rwkv(const Hyperparameters& hp, WeightList& weights,
               void (*parts)(const Hyperparameters&, std::int64_t, WeightList&));
void build_rwkv(GraphBuilder& b, const RwkvParts& parts);

/// The output of a recurrence, by rows; the states behind it go back to the cache.
Tensor* without_states(GraphBuilder& b, std::int64_t il, Tensor* recurrence);
/// Normed by heads.
Tensor* head_norm(GraphBuilder& b, std::int64_t il, Tensor* x);

}  // namespace memtape::llamacpp::arch
