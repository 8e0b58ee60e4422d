// SPDX-License-Identifier: Apache-2.0
// The three kinds of layers in a block of T5, each a norm, a branch, dropout and the sum with its
// input; mirroring transformers 5.17 models/t5/modeling_t5.py.
#pragma once

#include <memory>

#include "family/parts/t5_attention.h"
#include "nn/layers.h"

namespace memtape::family {

/// Scale without shift, and the variance in float32.
class T5LayerNorm : public nn::Module<T5LayerNorm> {
 public:
  T5LayerNorm(const nn::Scope& scope, std::int64_t hidden_size);
  Tensor forward(const Tensor& hidden_states);

 private:
  Tensor weight_;
};

/// T5DenseActDense and T5DenseGatedActDense.
class T5Dense : public nn::Module<T5Dense> {
 public:
  T5Dense(const nn::Scope& scope, const T5Config& config);
  Tensor forward(const Tensor& hidden_states);

 private:
  nn::Linear wi_;
  std::unique_ptr<nn::Linear> wi_1_;
  nn::Linear wo_;
  nn::Dropout dropout_;
  nn::Activation act_;
};

class T5LayerFF : public nn::Module<T5LayerFF> {
 public:
  T5LayerFF(const nn::Scope& scope, const T5Config& config);
  Tensor forward(const Tensor& hidden_states);

 private:
  T5Dense dense_relu_dense_;
  T5LayerNorm layer_norm_;
  nn::Dropout dropout_;
};

/// T5LayerSelfAttention and T5LayerCrossAttention.
class T5LayerAttention : public nn::Module<T5LayerAttention> {
 public:
  T5LayerAttention(const nn::Scope& scope, const T5Config& config, T5AttentionKind kind,
                   bool has_relative_attention_bias);
  T5AttentionOutput forward(const Tensor& hidden_states, const Tensor& attention_mask,
                            const Tensor& key_value_states, const Tensor& position_bias,
                            const Tensor& cache_position);

 private:
  T5Attention attention_;
  T5LayerNorm layer_norm_;
  nn::Dropout dropout_;
};

}  // namespace memtape::family
