// SPDX-License-Identifier: Apache-2.0
// A layer of T5's stacks: it attends to its own input, in the decoder to the encoder's states, and
// hands the position biases on to the next layer; mirroring transformers 5.17
// models/t5/modeling_t5.py and models/umt5/modeling_umt5.py.
#pragma once

#include <memory>

#include "family/parts/t5_layers.h"
#include "nn/checkpointing.h"

namespace memtape::family {

/// What a layer is given beside its input; undefined is None.
struct T5BlockInputs {
  Tensor attention_mask, position_bias, encoder_hidden_states, encoder_attention_mask,
      encoder_decoder_position_bias, cache_position;
};

struct T5BlockOutput {
  Tensor hidden_states, self_attn_position_bias, cross_attn_position_bias;
};

class T5Block : public nn::GradientCheckpointingLayer<T5Block> {
 public:
  T5Block(const nn::Scope& scope, const T5Config& config, bool is_decoder, nn::ListIndex index);

  T5BlockOutput operator()(const Tensor& hidden_states, const T5BlockInputs& in);
  T5BlockOutput forward(const Tensor& hidden_states, const Tensor& attention_mask,
                        const Tensor& position_bias, const Tensor& encoder_hidden_states,
                        const Tensor& encoder_attention_mask,
                        const Tensor& encoder_decoder_position_bias, const Tensor& cache_position);

 private:
  T5BlockOutput call_reentrant(const Tensor& hidden_states, const T5BlockInputs& in);
  void forget_positional(T5BlockInputs& in) const;

  const nn::ModuleTree& tree_;
  bool is_umt5_;
  nn::Scope layer_;
  T5LayerAttention self_attention_;
  std::unique_ptr<T5LayerAttention> cross_attention_;
  T5LayerFF feed_forward_;
};

}  // namespace memtape::family
