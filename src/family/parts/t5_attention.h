// SPDX-License-Identifier: Apache-2.0
// T5's attention: no scale, and a bias by relative position that the first layer of a stack makes
// and all of them add to their scores; mirroring transformers 5.17 models/t5/modeling_t5.py and
// integrations/sdpa_attention.py.
#pragma once

#include "family/parts/t5_config.h"
#include "nn/layers.h"

namespace memtape::family {

/// Who attends to whom: within the encoder, within the decoder, or from the decoder to the encoder.
enum class T5AttentionKind { encoder, decoder, cross };

struct T5AttentionOutput {
  Tensor attn_output, position_bias;
  Tensor attn_weights;  ///< of eager attention
};

class T5Attention : public nn::Module<T5Attention> {
 public:
  T5Attention(const nn::Scope& scope, const T5Config& config, T5AttentionKind kind,
              bool has_relative_attention_bias);

  /// `key_value_states`, may be undefined, are attended to instead of `hidden_states`; an undefined
  /// `position_bias` is made, and given back where layers share it. `cache_position`: where the
  /// stack counted positions.
  T5AttentionOutput forward(const Tensor& hidden_states, const Tensor& mask,
                            const Tensor& key_value_states, const Tensor& position_bias,
                            const Tensor& cache_position);

 private:
  static Tensor counted_here(std::int64_t query_length);
  Tensor compute_bias(std::int64_t query_length, std::int64_t key_length,
                      const Tensor& cache_position);
  Tensor make_position_bias(const Tensor& query_states, const Tensor& key_states,
                            const Tensor& cache_position);

  const nn::ModuleTree& tree_;
  T5AttentionKind kind_;
  std::int64_t n_heads_, key_value_proj_dim_;
  double dropout_;
  bool shares_position_bias_;
  AttentionImplementation attention_;
  nn::Linear q_, k_, v_, o_;
  std::optional<nn::Embedding> relative_attention_bias_;
};

}  // namespace memtape::family
