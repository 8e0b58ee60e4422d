// SPDX-License-Identifier: Apache-2.0
// T5Config of transformers 5.17 (models/t5/configuration_t5.py), as far as memory goes. Encoder and
// decoder are built from the same settings but for their number of layers.
#pragma once

#include "family/pretrained.h"
#include "nn/activations.h"

namespace memtape::family {

struct T5Config {
  T5Config(const Config& config, const ModelOptions& options);

  std::int64_t vocab_size, d_model, d_kv, d_ff, num_layers, num_decoder_layers, num_heads;
  std::int64_t relative_attention_num_buckets;
  double dropout_rate;
  nn::Activation dense_act_fn;
  bool is_gated_act;
  bool scale_decoder_outputs, ties_head;
  /// The first layer of a stack makes it for all. UMT5: each has its own, and sdpa is not told that
  /// the decoder is causal.
  bool shares_position_bias;
  AttentionImplementation attention;
};

}  // namespace memtape::family
