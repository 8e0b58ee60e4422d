// SPDX-License-Identifier: Apache-2.0
// TowerModules: the modules of a tower that no step runs, made one after the other as the tower's
// constructors make them. They hold parameters and buffers, and may be given adapters.
#pragma once

#include <deque>

#include "family/parts/llama_layer.h"
#include "family/parts/rope.h"
#include "nn/convolution.h"
#include "nn/layers.h"

namespace memtape::family {

class TowerModules {
 public:
  void linear(const nn::Scope& scope, std::int64_t from, std::int64_t to, bool has_bias);
  void embedding(const nn::Scope& scope, std::int64_t count, std::int64_t size);
  void convolution(const nn::Scope& scope, const Dims& weight_sizes, bool has_bias);
  void rms_norm(const nn::Scope& scope, std::int64_t size);
  void layer_norm(const nn::Scope& scope, std::int64_t size);
  /// The frequencies of a rotary embedding of so many dimensions.
  void rotary(const nn::Scope& scope, std::int64_t dim);

 private:
  std::deque<nn::Linear> linears_;
  std::deque<nn::Embedding> embeddings_;
  std::deque<nn::Convolution> convolutions_;
  std::deque<LlamaRMSNorm> rms_norms_;
  std::deque<nn::LayerNorm> layer_norms_;
  std::deque<RotaryEmbedding> rotaries_;
};

}  // namespace memtape::family
